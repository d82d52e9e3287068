import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// The separation of stored responses, and their end.
@Suite(.timeLimit(.minutes(3)))
struct CacheSafetyTests {
    private typealias World = CacheWorld

    // MARK: Keys

    /// In the cache of one user, credentials separate responses; in that of many, the rules forbid to store them.
    @Test(arguments: ["field", "URL"])
    func credentialsSeparateResponses(_ place: String) async throws {
        let world = World { request in World.response(request.headers[.authorization] ?? "none") }
        func request(_ user: String?) -> Request {
            guard let user else { return Request(World.url) }
            if place == "URL" { return Request("http://\(user):x@localhost/a") }
            return Request(World.url, headers: [.authorization: user])
        }
        var texts: Set<String> = []
        for user in ["a", "b", nil] {
            let first = try await world.get(request(user))
            #expect(first[1] == "trellis; fwd=uri-miss; ttl=60; stored")
            #expect(try await world.get(request(user)) == [first[0], "trellis; hit; ttl=60"])
            texts.insert(first[0])
        }
        #expect(texts.count == 3)
        for try await key in world.cache.storage.keys {
            #expect(key.url == World.url && !key.partition.contains("a:") && [0, 32].contains(key.partition.count))
        }
        try await world.cache.remove(World.url)
        #expect(try await world.storedCount == 0)
    }

    /// The URL of a response that no server has sent is as free of credentials as that of any other.
    @Test func theResponseToARequestThatMustNotBeSentHasNoCredentials() async throws {
        let world = World { _ in World.response("one") }
        let request = Request("http://ada:s3cret@localhost/a").withCacheMode(.onlyIfCached)
        let response = try await world.session.data(request).1
        #expect(response.status == .gatewayTimeout && response.url == World.url)
        #expect(world.transport.requests.isEmpty)
    }

    /// RFC 3986, section 6.2.3: an empty query may name another resource than none.
    @Test func anEmptyQuerySeparatesResponses() async throws {
        let world = World { request in World.response(request.url) }
        for url in [World.url, World.url + "?"] {
            #expect(try await world.get(Request(url))[1] == "trellis; fwd=uri-miss; ttl=60; stored")
            #expect(try await world.get(Request(url)) == [url, "trellis; hit; ttl=60"])
        }
    }

    @Test func theHostIsTheSameInAnyCase() async throws {
        let world = World { _ in World.response("one") }
        _ = try await world.get(Request("http://LOCALHOST:80/a#b"))
        #expect(try await world.get()[1] == "trellis; hit; ttl=60")
        #expect(try await world.get(Request("http://localhost/A"))[1] == "trellis; fwd=uri-miss; ttl=60; stored")
        #expect(try await world.session.data(World.url).1.cacheStatus?.key == World.url)
    }

    @Test func responsesAreRemovedByTheirURLs() async throws {
        let world = World { _ in World.response("one") }
        for path in ["a", "b", "c/d"] { _ = try await world.get(Request("http://localhost/\(path)")) }
        try await world.cache.removeAll { $0.url.hasSuffix("/a") || $0.url.contains("/c/") }
        var keys: [CacheKey] = []
        for try await key in world.cache.storage.keys { keys.append(key) }
        #expect(keys == [CacheKey(url: "http://localhost/b")])
    }

    // MARK: Responses that are no longer valid

    @Test(arguments: [200, 404])
    func aNewerResponseThatIsNotStoredEndsTheOldOne(_ status: Int) async throws {
        let answers = MockTransport.inTurn([
            World.response("old"), World.response("new", status: status, [.cacheControl: "no-store"]),
        ])
        let world = World { try await answers($0) }
        _ = try await world.get()
        #expect(try await world.get(Request(World.url).withCacheMode(.reload))[0] == "new")
        #expect(try await world.get() == ["new", "trellis; fwd=uri-miss; detail=no-store"])
    }

    @Test(arguments: ["304", "HEAD"])
    func anUpdateThatForbidsStoringRemoves(_ way: String) async throws {
        let world = World { request in
            if request.headers.contains(.ifNoneMatch) {
                return World.response("", status: 304, [.cacheControl: "no-store", .eTag: "\"1\""])
            }
            let isHead = request.method == .head
            return World.response(
                isHead ? "" : "one",
                [.cacheControl: isHead ? "no-store" : "max-age=60", .eTag: "\"1\"", .contentLength: "3"])
        }
        _ = try await world.get()
        if way == "HEAD" {
            let head = Request(World.url, method: .head)
            _ = try await world.get(head.withCacheMode(.noStore))
            #expect(try await world.storedCount == 1)
            _ = try await world.get(head.withCacheMode(.reload))
        } else {
            world.pass(61)
            #expect(try await world.get()[0] == "one")
        }
        #expect(try await world.storedCount == 0)
    }

    /// A retry asks the server again, also if the failure may be stored.
    @Test func aStoredFailureIsNotTheResponseToARetry() async throws {
        let answers = MockTransport.inTurn([World.response("down", status: 503), World.response("up")])
        let world = World({ $0.steps.intercept(with: RetryPolicy(exponentialBackoffScale: .zero)) }) {
            try await answers($0)
        }
        #expect(try await world.get()[0] == "up")
        #expect(world.transport.requests.count == 2)
    }

    @Test func aStaleResponseWithoutValidatorStandsInForAFailure() async throws {
        let isDown = Locked(false)
        let world = World { _ in
            isDown.withLock { $0 }
                ? World.response("down", status: 503, [:])
                : World.response("one", [.cacheControl: "max-age=60, stale-if-error=100"])
        }
        _ = try await world.get()
        isDown.withLock { $0 = true }
        world.pass(100)
        #expect(try await world.get() == ["one", "trellis; fwd=stale; fwd-status=503; ttl=-40; detail=stale-if-error"])
        #expect(world.cache.statistics.staleCount == 1)
        #expect(try await world.get(Request(World.url, headers: [.ifMatch: "\"1\""]))[0] == "down")
    }

    // MARK: Storages

    /// A storage whose bodies cannot be read.
    private struct Damaged: MemoryBackedStorage {
        let memory = MemoryCacheStorage()

        func entries(for key: CacheKey) -> [CacheEntry] {
            memory.entries(for: key).map { entry in
                CacheEntry(id: entry.id, head: entry.head, body: UnreadableBody(of: entry))
            }
        }
    }

    @Test func aStoredBodyThatCannotBeReadIsRequestedAgain() async throws {
        let world = World(storage: Damaged()) { _ in
            World.response("one", [.cacheControl: "max-age=60", .eTag: "\"1\""])
        }
        for count in 1...3 {
            #expect(try await world.get() == ["one", "trellis; fwd=uri-miss; ttl=60; stored"])
            #expect(world.transport.requests.count == count)
        }
        let stream = try await world.session.stream(World.url)
        let error = await #expect(throws: TrellisError.self) { for try await _ in stream.chunks {} }
        #expect(error?.kind == .truncatedBody && error?.isRetryable == true)
        #expect(try await world.storedCount == 0)
    }

    @Test(arguments: [false, true])
    func theLimitOfTheBodyHoldsForStreams(_ isHit: Bool) async throws {
        let world = World { _ in World.response("0123456789") }
        if isHit { _ = try await world.get() }
        var request = Request(World.url)
        request.maximumBodySize = .bytes(9)
        let stream = try await world.session.stream(request)
        let error = await #expect(throws: TrellisError.self) { for try await _ in stream.chunks {} }
        #expect(error?.kind == .bodyTooLarge)
        #expect(try await world.storedCount == (isHit ? 1 : 0))
    }

    @Test func theFinalResponseOfAStreamHasTheStatus() async throws {
        let world = World(storage: MemoryCacheStorage(maximumBodySize: 5)) { _ in World.response("0123456789") }
        var stream = try await world.session.stream(World.url)
        #expect(stream.response.cacheStatus?.isStored == true)
        let response = try await stream.finalResponse()
        #expect(response.cacheStatus?.description == "trellis; fwd=uri-miss; ttl=60; detail=storage")
        stream = try await world.session.stream(Request(World.url, method: .post))
        #expect(try await stream.finalResponse().cacheStatus?.description == "trellis; fwd=method")
    }

    // MARK: Further ways to store

    @Test func theHandlerDecidesWhatIsStored() async throws {
        let world = World({ configuration in
            configuration.steps.cachedResponseHandler = .modify { head, request in
                if request.url.hasSuffix("/b") { return nil }
                var head = head
                head.headers[.cacheControl] = "max-age=5"
                return head
            }
        }) { _ in World.response("one", [.cacheControl: "no-store"]) }
        #expect(try await world.get() == ["one", "trellis; fwd=uri-miss; ttl=5; stored"])
        #expect(try await world.get()[1] == "trellis; hit; ttl=5")
        #expect(try await world.get(Request("http://localhost/b"))[1] == "trellis; fwd=uri-miss; detail=handler")
        let request = Request("http://localhost/c").withSteps { $0.cachedResponseHandler = .doNotCache }
        #expect(try await world.get(request)[1] == "trellis; fwd=uri-miss; detail=handler")
    }

    @Test func theResponseToAPostThatSaysSoAnswersAGet() async throws {
        let world = World { request in
            World.response(
                request.method.rawValue,
                [.cacheControl: "max-age=60", .contentLocation: request.path == "/a" ? "/a" : "/elsewhere"])
        }
        for path in ["/a", "/b"] {
            let url = "http://localhost" + path
            let status = try await world.get(Request(url, method: .post, body: .string("x")))[1]
            #expect(status == "trellis; fwd=method; " + (path == "/a" ? "ttl=60; stored" : "detail=content-location"))
            #expect(try await world.get(Request(url))[0] == (path == "/a" ? "POST" : "GET"))
        }
    }

    /// The session of a call that has failed does not wait for a call that would have followed. Without a `Location` the response is final.
    @Test(arguments: [false, true])
    func aRedirectWhoseBodyCannotBeDecodedLeavesNothingBehind(_ hasCookies: Bool) async throws {
        let world = World(
            clock: TestClock(), { if hasCookies { $0.steps.cookies = CookieJar() } },
            { _ in World.response("x", status: 302, [.contentEncoding: "gzip"]) })
        let error = await #expect(throws: TrellisError.self) { try await world.get() }
        #expect(error?.kind == .contentCoding)
        // The clock stands still.
        await world.shutDown()
    }

    /// A response without a body has nothing to decode.
    @Test(arguments: [("HEAD", 200), ("GET", 204), ("GET", 304)])
    func aStreamWithoutABodyMayHaveAnyContentCoding(_ method: String, _ status: Int) async throws {
        let world = World { _ in World.response("", status: status, [.contentEncoding: "x-unknown"]) }
        let request = Request(World.url, method: HTTPRequest.Method(method) ?? .get)
        let stream = try await world.session.stream(request)
        #expect(stream.response.status.code == status)
        for try await chunk in stream.chunks { Issue.record("\(chunk)") }
    }

    @Test func theUseOfTheCacheIsAnEvent() async throws {
        let seen = Locked<[String]>([])
        let world = World({ configuration in
            configuration.eventMonitors.append(
                ClosureEventMonitor { event in
                    if case .cacheUsed(let status) = event.kind { seen.withLock { $0.append("\(status)") } }
                })
        }) { _ in World.response("one") }
        for _ in 1...2 { _ = try await world.get() }
        await (try world.session).shutdown(drainingFor: .seconds(10))
        #expect(seen.withLock { $0 } == ["trellis; fwd=uri-miss; ttl=60; stored", "trellis; hit; ttl=60"])
    }
}
