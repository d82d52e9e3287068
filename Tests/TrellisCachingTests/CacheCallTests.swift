import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// Calls of a session with a cache.
@Suite(.timeLimit(.minutes(3)))
struct CacheCallTests {
    private typealias World = CacheWorld

    private static let url = "http://localhost/a"

    private static func response(
        _ text: String, status: Int = 200, _ fields: HTTPFields = [.cacheControl: "max-age=60"]
    ) -> MockResponse {
        MockResponse(status: status, headers: fields, body: Data(text.utf8))
    }

    private static func body(_ stream: StreamResponse) async throws -> Data {
        try await stream.chunks.reduce(into: Data()) { $0.append($1) }
    }

    // MARK: Hits

    @Test func aFreshResponseIsUsedWithoutARequest() async throws {
        let world = World { _ in Self.response("one") }
        #expect(try await world.get() == ["one", "trellis; fwd=uri-miss; ttl=60; stored"])
        world.pass(10)
        let (data, response) = try await world.session.data(Self.url + "#part")
        #expect(String(decoding: data, as: UTF8.self) == "one" && response.status == .ok)
        #expect(response.headers[.age] == "10" && response.headers[.cacheControl] == "max-age=60")
        #expect(response.cacheStatus?.description == "trellis; hit; ttl=50" && response.cacheStatus?.isHit == true)
        #expect(world.transport.requests.count == 1)
        #expect(try await world.get(Request("http://localhost/b"))[1].hasPrefix("trellis; fwd=uri-miss"))
    }

    @Test func withoutACacheThereIsNoStatus() async throws {
        let world = World({ $0.steps.cache = nil }) { _ in Self.response("one") }
        #expect(try await world.get() == ["one", "none"])
    }

    @Test func aStreamedResponseIsStoredWhenItHasBeenRead() async throws {
        let world = World { _ in Self.response(String(repeating: "text ", count: 100_000)) }
        for status in ["trellis; fwd=uri-miss; ttl=60; stored", "trellis; hit; ttl=60"] {
            let stream = try await world.session.stream(Self.url)
            #expect(stream.response.cacheStatus?.description == status)
            #expect(try await Self.body(stream).count == 500_000)
        }
        #expect(world.transport.requests.count == 1)
    }

    @Test func aStreamThatIsLeftIsNotStored() async throws {
        let world = World { _ in
            MockResponse(headers: [.cacheControl: "max-age=60"]) { writer in
                for _ in 0..<1000 { try await writer.write(Data(count: 10_000)) }
            }
        }
        for try await chunk in try await world.session.stream(Self.url).chunks {
            #expect(!chunk.isEmpty)
            break
        }
        try await world.transport.waitUntilIdle()
        #expect(try await world.storedCount == 0)
    }

    @Test(arguments: [false, true])
    func aCodedBodyIsStoredAsItCame(_ isStream: Bool) async throws {
        let world = World { _ in
            MockResponse(
                headers: [.cacheControl: "max-age=60", .contentEncoding: "gzip", .vary: "Accept-Encoding"],
                body: Self.coded)
        }
        let text = String(repeating: "hello cache ", count: 1000)
        for _ in 1...2 {
            if isStream {
                let body = try await Self.body(try await world.session.stream(Self.url))
                #expect(String(decoding: body, as: UTF8.self) == text)
            } else {
                #expect(try await world.get()[0] == text)
            }
        }
        #expect(world.transport.requests.count == 1)
        #expect(try await world.cache.storage.usage.size < 2000)
        // A caller that wants the body as it is sends other fields.
        var plain = Request(Self.url)
        plain.decodesContent = false
        plain.headers[.acceptEncoding] = HTTPField.acceptEncoding.value
        #expect(try await world.session.data(plain).0 == Self.coded)
        #expect(world.transport.requests.count == 1)
        var limited = Request(Self.url)
        limited.maximumBodySize = .bytes(11_999)
        let error = await #expect(throws: TrellisError.self) { try await world.session.data(limited) }
        #expect(error?.kind == .bodyTooLarge)
    }

    private static let coded =
        Data(
            base64Encoded:
                "H4sIAAAAAAACA+3GsQkAMAwDsFfyWgkBD4H+v/WMLtKkzO6tPp"
                + "2puLu7u7u7u7u7u7u7u7u7u7u7u7u7u7t/+gOZwuIA4C4AAA==") ?? Data()

    // MARK: Validation

    @Test func aStaleResponseIsValidated() async throws {
        let world = World { request in
            guard request.headers[.ifNoneMatch] == "\"1\"" else {
                return Self.response("one", [.cacheControl: "max-age=60", .eTag: "\"1\"", .server: "old"])
            }
            return Self.response("", status: 304, [.cacheControl: "max-age=90", .eTag: "\"1\"", .server: "new"])
        }
        _ = try await world.get()
        world.pass(60)
        let (data, response) = try await world.session.data(Self.url)
        #expect(String(decoding: data, as: UTF8.self) == "one" && response.status == .ok)
        #expect(response.headers[.server] == "new")
        #expect(response.cacheStatus?.description == "trellis; fwd=stale; fwd-status=304; ttl=90; stored")
        world.pass(89)
        #expect(try await world.get() == ["one", "trellis; hit; ttl=1"])
        #expect(world.transport.requests.count == 2)
    }

    @Test func aStaleResponseIsReplaced() async throws {
        let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\""]
        let answers = MockTransport.inTurn([Self.response("1", fields), Self.response("2", fields)])
        let world = World { try await answers($0) }
        #expect(try await world.get()[0] == "1")
        world.pass(61)
        #expect(try await world.get() == ["2", "trellis; fwd=stale; ttl=60; stored"])
        #expect(try await world.get() == ["2", "trellis; hit; ttl=60"])
        #expect(try await world.storedCount == 1)
    }

    /// The 304 is about a response that is no longer stored, or never was.
    @Test func aNotModifiedResponseAboutNothingThatIsStoredIsAskedAgain() async throws {
        let world = World { request in
            guard request.headers.contains(.ifNoneMatch) else {
                return Self.response("one", [.cacheControl: "max-age=60", .eTag: "\"1\""])
            }
            return Self.response("", status: 304, [.eTag: "\"other\""])
        }
        _ = try await world.get()
        world.pass(61)
        #expect(try await world.get() == ["one", "trellis; fwd=stale; ttl=60; stored"])
        #expect(world.transport.requests.count == 3)
    }

    @Test func theConditionsOfTheCallerAreAnswered() async throws {
        let world = World { _ in Self.response("one", [.cacheControl: "max-age=60", .eTag: "\"1\""]) }
        _ = try await world.get()
        let request = Request(Self.url, headers: [.ifNoneMatch: "\"1\""])
        let (data, response) = try await world.session.data(request)
        #expect(data.isEmpty && response.status == .notModified && response.headers[.eTag] == "\"1\"")
        #expect(response.cacheStatus?.isHit == true && world.transport.requests.count == 1)
        world.pass(61)
        #expect(try await world.get(request)[1] == "trellis; fwd=stale; ttl=60; stored")
        #expect(world.transport.requests.last?.headers[values: .ifNoneMatch] == ["\"1\""])
    }

    // MARK: Requests

    @Test func requestsThatDifferInAFieldOfVaryHaveResponsesOfTheirOwn() async throws {
        let world = World { request in
            let language = request.headers[.acceptLanguage] ?? "none"
            return Self.response(language, [.cacheControl: "max-age=60", .vary: "Accept-Language"])
        }
        for _ in 1...2 {
            for language in ["de", "fr"] {
                let request = Request(Self.url, headers: [.acceptLanguage: language])
                #expect(try await world.get(request)[0] == language)
            }
        }
        #expect(world.transport.requests.count == 2)
        #expect(try await world.storedCount == 2)
        let other = Request(Self.url, headers: [.acceptLanguage: "it"])
        #expect(try await world.get(other) == ["it", "trellis; fwd=vary-miss; ttl=60; stored"])
    }

    @Test(
        arguments: [
            (.noStore, false, "trellis; fwd=bypass; detail=mode-no-store", 2, "trellis; hit; ttl=50"),
            (.reload, false, "trellis; fwd=bypass; ttl=60; stored", 2, "trellis; hit; ttl=60"),
            (.noCache, false, "trellis; fwd=request; ttl=60; stored", 2, "trellis; hit; ttl=60"),
            (.forceCache, true, "trellis; hit; ttl=-40", 1, "trellis; fwd=stale; ttl=60; stored"),
            (.onlyIfCached, true, "trellis; hit; ttl=-40", 1, "trellis; fwd=stale; ttl=60; stored"),
        ] as [(CacheMode, Bool, String, Int, String)])
    func modesOfRequests(
        _ mode: CacheMode, _ isStale: Bool, _ status: String, _ count: Int, _ next: String
    ) async throws {
        let world = World { _ in Self.response("one", [.cacheControl: "max-age=60", .eTag: "\"1\""]) }
        _ = try await world.get()
        world.pass(isStale ? 100 : 10)
        #expect(try await world.get(Request(Self.url).withCacheMode(mode)) == ["one", status])
        #expect(world.transport.requests.count == count)
        #expect(try await world.get()[1] == next)
    }

    @Test func aRequestThatMustNotBeSentIsA504() async throws {
        let world = World { _ in Self.response("one") }
        for request in [
            Request(Self.url).withCacheMode(.onlyIfCached),
            Request(Self.url, headers: [.cacheControl: "only-if-cached"]),
            Request(Self.url, method: .post, headers: [.cacheControl: "only-if-cached"]),
            Request(Self.url, headers: [.cacheControl: "only-if-cached"], body: .string("x")),
            Request(Self.url, body: .string("x")).withCacheMode(.onlyIfCached),
        ] {
            let (data, response) = try await world.session.data(request)
            #expect(data.isEmpty && response.status == .gatewayTimeout && response.cacheStatus?.isHit == false)
            #expect(response.cacheStatus?.description == "trellis; detail=only-if-cached")
        }
        #expect(world.transport.requests.isEmpty)
    }

    @Test(arguments: ["POST", "PUT", "M-SEARCH"])
    func anUnsafeMethodInvalidates(_ method: String) async throws {
        let world = World { _ in Self.response("one") }
        _ = try await world.get()
        let unsafe = Request(Self.url, method: try #require(HTTPRequest.Method(method)))
        #expect(try await world.get(unsafe)[1] == "trellis; fwd=method")
        #expect(try await world.get()[1] == "trellis; fwd=uri-miss; ttl=60; stored")
    }

    @Test func aHeadIsAnsweredByAGetAndUpdatesIt() async throws {
        let world = World { request in
            request.method == .head
                ? Self.response("", [.cacheControl: "max-age=600", .eTag: "\"1\"", .contentLength: "3"])
                : Self.response("one", [.cacheControl: "max-age=60", .eTag: "\"1\"", .contentLength: "3"])
        }
        _ = try await world.get()
        let head = Request(Self.url, method: .head)
        let (data, response) = try await world.session.data(head)
        #expect(data.isEmpty && response.headers[.contentLength] == "3" && response.cacheStatus?.isHit == true)
        #expect(try await world.get(head.withCacheMode(.reload))[1] == "trellis; fwd=bypass")
        world.pass(500)
        #expect(try await world.get() == ["one", "trellis; hit; ttl=100"])
    }

    @Test(arguments: [
        ("bytes=1-2", "ne", "bytes 1-2/3"), ("bytes=-1", "e", "bytes 2-2/3"), ("bytes=2-", "e", "bytes 2-2/3"),
    ])
    func aRangeIsCutFromTheCompleteResponse(_ range: String, _ text: String, _ contentRange: String) async throws {
        let world = World { _ in Self.response("one") }
        _ = try await world.get()
        let (data, response) = try await world.session.data(Request(Self.url, headers: [.range: range]))
        #expect(String(decoding: data, as: UTF8.self) == text && response.status == .partialContent)
        #expect(response.headers[.contentRange] == contentRange && response.headers[.contentLength] == "\(text.count)")
        #expect(world.transport.requests.count == 1)
    }

    /// The response to a request with a body, or to a part, is none for the URL alone.
    @Test(arguments: [401, 412, 416])
    func aResponseToThisRequestAloneIsNotStored(_ status: Int) async throws {
        let world = World { request in Self.response("one", status: request.headers[.range] == nil ? 200 : status) }
        _ = try await world.get(Request(Self.url, headers: [.range: "bytes=9-"]))
        #expect(try await world.get() == ["one", "trellis; fwd=uri-miss; ttl=60; stored"])
        let body = Request(Self.url, body: .string("question"))
        #expect(try await world.get(body) == ["one", "trellis; fwd=bypass"])
        #expect(try await world.get()[1] == "trellis; hit; ttl=60")
    }

    /// A coded body that ends early is an error, and not stored.
    @Test(arguments: [false, true])
    func aBodyWhoseCodingIsNotCompleteIsNotStored(_ isStream: Bool) async throws {
        let world = World { _ in
            MockResponse(
                headers: [.cacheControl: "max-age=60", .contentEncoding: "gzip"], body: Self.coded.dropLast(9))
        }
        let error = await #expect(throws: TrellisError.self) {
            _ = try await isStream ? Self.body(world.session.stream(Self.url)) : world.session.data(Self.url).0
        }
        #expect(error?.kind == .contentCoding)
        #expect(try await world.storedCount == 0)
    }

    @Test func aPartIsStoredAndAnswersPartsOfItself() async throws {
        let world = World { request in
            let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\""]
            guard request.headers.contains(.range) else { return Self.response("0123456789", fields) }
            var part = fields
            part[.contentRange] = "bytes 2-5/10"
            return Self.response("2345", status: 206, part)
        }
        let request = Request(Self.url, headers: [.range: "bytes=2-5"])
        #expect(try await world.get(request) == ["2345", "trellis; fwd=uri-miss; ttl=60; stored"])
        let (data, response) = try await world.session.data(Request(Self.url, headers: [.range: "bytes=3-4"]))
        #expect(String(decoding: data, as: UTF8.self) == "34" && response.headers[.contentRange] == "bytes 3-4/10")
        #expect(response.status == .partialContent && response.cacheStatus?.isHit == true)
        #expect(try await world.get(Request(Self.url, headers: [.range: "bytes=1-4"]))[1].contains("fwd=partial"))
        #expect(try await world.get() == ["0123456789", "trellis; fwd=partial; ttl=60; stored"])
        // The complete response stays.
        #expect(try await world.get(request.withCacheMode(.reload))[1] == "trellis; fwd=bypass")
        #expect(try await world.get(request) == ["2345", "trellis; hit; ttl=60"])
    }

    @Test(
        arguments: [
            ("no-store", "no-store"), ("max-age=0", "not-reusable"), ("private", "private"),
        ])
    func theReasonAgainstStoringIsTold(_ directives: String, _ reason: String) async throws {
        let world = World(policy: CachePolicy(sharing: .shared)) { _ in
            Self.response("one", [.cacheControl: directives])
        }
        #expect(try await world.get() == ["one", "trellis; fwd=uri-miss; detail=\(reason)"])
        #expect(try await world.storedCount == 0)
    }

    @Test(arguments: [(206, "range"), (401, "credentials"), (412, "condition"), (416, "range")])
    func theReasonMayBeTheStatus(_ status: Int, _ reason: String) async throws {
        let world = World { _ in Self.response("one", status: status) }
        #expect(try await world.get() == ["one", "trellis; fwd=uri-miss; detail=\(reason)"])
        #expect(try await world.storedCount == 0)
    }

    // MARK: Failures

    @Test(arguments: [nil, 500, 503, 404] as [Int?])
    func aStaleResponseStandsInForAFailure(_ failure: Int?) async throws {
        let isDown = Locked(false)
        let world = World { _ in
            guard isDown.withLock({ $0 }) else {
                return Self.response("one", [.cacheControl: "max-age=60, stale-if-error=100", .eTag: "\"1\""])
            }
            guard let failure else { throw TransportFailure(.connectionFailed(.unreachable("down"))) }
            return Self.response("down", status: failure, [:])
        }
        _ = try await world.get()
        isDown.withLock { $0 = true }
        world.pass(159)
        let mark = failure.map { "; fwd-status=\($0)" } ?? ""
        let expected =
            failure == 404
            ? "trellis; fwd=stale; detail=not-reusable" : "trellis; fwd=stale\(mark); ttl=-99; detail=stale-if-error"
        #expect(try await world.get() == [failure == 404 ? "down" : "one", expected])
        world.pass(10)
        if failure == nil {
            let error = await #expect(throws: TrellisError.self) { try await world.session.data(Self.url) }
            #expect(error?.kind == .connect)
        } else {
            #expect(try await world.get()[0] == "down")
        }
    }

    @Test func aStorageThatFailsHoldsUpNoRequest() async throws {
        struct Broken: CacheStorage {
            struct Failure: Error {}
            func entries(for key: CacheKey) async throws -> [CacheEntry] { throw Failure() }
            func makeWriter(for key: CacheKey, _ head: CachedHead, length: Int64?) async throws -> any CacheWriter {
                throw Failure()
            }
            func update(_ entry: CacheEntry, for key: CacheKey, to head: CachedHead) async throws { throw Failure() }
            func remove(_ entry: CacheEntry, for key: CacheKey) async throws { throw Failure() }
            func removeEntries(for key: CacheKey) async throws { throw Failure() }
            func removeAll() async throws { throw Failure() }
            var keys: AsyncThrowingStream<CacheKey, any Error> { AsyncThrowingStream { throw Failure() } }
            var usage: CacheUsage { get async throws { throw Failure() } }
        }
        let failureCount = Locked(0)
        let monitor = ClosureEventMonitor { event in
            if case .cacheFailed = event.kind { failureCount.withLock { $0 += 1 } }
        }
        let world = World(storage: Broken(), { $0.eventMonitors.append(monitor) }) { _ in Self.response("one") }
        #expect(try await world.get() == ["one", "trellis; fwd=uri-miss; detail=storage"])
        // The search for a stored response has failed, and the storing.
        #expect(world.cache.statistics.failureCount >= 2)
        #expect(try await world.get(Request(Self.url, method: .post)) == ["one", "trellis; fwd=method"])
        await world.shutDown()
        #expect(failureCount.withLock { $0 } == 1)
    }

    @Test func cookiesOfAStoredResponseAreNotStoredAgain() async throws {
        let jar = CookieJar()
        let world = World({ $0.steps.cookies = jar }) { _ in
            Self.response("one", [.cacheControl: "max-age=60", .setCookie: "a=1"])
        }
        _ = try await world.get()
        #expect(await jar.all.count == 1)
        await jar.removeAll()
        let response = try await world.session.data(Self.url).1
        #expect(response.cacheStatus?.isHit == true && response.headers[.setCookie] == "a=1")
        #expect(await jar.all.isEmpty)
    }
}
