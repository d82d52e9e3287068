import CurlEngine
import Foundation
import HTTPTypes
import Testing
import TrellisTesting

@testable import Trellis

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

    private struct Passing: RequestStep {
        func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
            try await next(request)
        }
    }

    private static func field(_ name: String, _ value: String) throws -> HTTPField {
        HTTPField(name: try #require(HTTPField.Name(name)), value: value)
    }

    /// An origin that answers a private cache need not say which of a user's secrets its response is for.
    @Test(arguments: ["X-API-Key", "Cookie", "X-Auth-Token", "PRIVATE-TOKEN", "X-Marked"], [false, true])
    func secretsSeparateResponses(_ name: String, _ isDefault: Bool) async throws {
        func world(_ value: String, sharing: HTTPCache?) throws -> (World, HTTPField) {
            var field = try Self.field(name, value)
            if name == "X-Marked" { field.indexingStrategy = .disallow }
            let world = World { configuration in
                if let sharing { configuration.steps.cache = sharing }
                if isDefault { configuration.defaultHeaders.append(field) }
            } _: { request in
                World.response(request[name] ?? "none", [.cacheControl: "private, max-age=60"])
            }
            return (world, field)
        }
        let none = World { _ in World.response("none") }
        _ = try await none.get()
        for value in ["one", "two"] {
            let (world, field) = try world(value, sharing: none.cache)
            let request = isDefault ? Request(World.url) : Request(World.url).withHeader(field)
            #expect(try await world.get(request) == [value, "trellis; fwd=uri-miss; ttl=60; stored"])
            #expect(try await world.get(request) == [value, "trellis; hit; ttl=60"])
        }
        #expect(try await none.get() == ["none", "trellis; hit; ttl=60"])
    }

    /// The rules of a cache of many users are those of RFC 9111: `Vary` and `private` separate, and no secret does.
    @Test func secretsDoNotSeparateTheResponsesOfACacheOfManyUsers() async throws {
        let world = World(policy: CachePolicy(sharing: .shared)) { _ in World.response("one") }
        for (name, value) in [("X-API-Key", "a"), ("Cookie", "b=c"), ("X-API-Key", "d")] {
            _ = try await world.get(Request(World.url).withHeader(try Self.field(name, value)))
        }
        #expect(world.transport.requests.count == 1)
    }

    /// The cookies of a jar change with each visit; a `Cookie` of the caller's own separates responses also where the jar adds to it.
    @Test(arguments: [false, true])
    func cookiesOfTheJarSeparateNoResponses(_ waits: Bool) async throws {
        let count = Locked(0)
        let world = World { configuration in
            configuration.steps.cookies = CookieJar()
            // A step around the hop leads through the call's task.
            if waits { configuration.steps.aroundHop.append(Passing()) }
        } _: { _ in
            World.response("one", [.cacheControl: "max-age=60", .setCookie: "a=\(count.next())"])
        }
        #expect(try await world.get()[1] == "trellis; fwd=uri-miss; ttl=60; stored")
        #expect(try await world.get()[1] == "trellis; hit; ttl=60")
        for own in ["b=1", "b=2"] {
            let request = Request(World.url, headers: [.cookie: own])
            #expect(try await world.get(request)[1] == "trellis; fwd=uri-miss; ttl=60; stored")
            #expect(try await world.get(request)[1] == "trellis; hit; ttl=60")
        }
        #expect(world.transport.requests.map { $0.headers[.cookie] } == [nil, "b=1; a=1", "b=2; a=2"])
    }

    /// A change often has a secret more than what it changes, such as a token against forgery.
    @Test func aChangeInvalidatesWhatWasStoredWithFewerSecrets() async throws {
        let world = World { _ in World.response("one") }
        let stored: [HTTPFields] = [[:], [.authorization: "Bearer a"], [.cookie: "b=c"], [.authorization: "Bearer d"]]
        for fields in stored { _ = try await world.get(Request(World.url, headers: fields)) }
        var change = Request(World.url, method: .post, headers: [.authorization: "Bearer a", .cookie: "b=c"])
        change.headers.append(try Self.field("X-CSRF-Token", "e"))
        _ = try await world.get(change)
        for fields in stored {
            let isOther = fields[.authorization] == "Bearer d"
            let status = try await world.get(Request(World.url, headers: fields))[1]
            #expect(status == (isOther ? "trellis; hit; ttl=60" : "trellis; fwd=uri-miss; ttl=60; stored"))
        }
    }

    /// A change with credentials also concerns the stored response to requests without credentials.
    @Test func aChangeWithCredentialsInvalidatesWhatWasStoredWithout() async throws {
        let world = World { _ in World.response("one") }
        _ = try await world.get()
        var change = Request(World.url, method: .post)
        change.headers[.authorization] = "Bearer a"
        _ = try await world.get(change)
        #expect(try await world.get()[1] == "trellis; fwd=uri-miss; ttl=60; stored")
        #expect(world.transport.requests.count == 3)
    }

    /// RFC 9111, section 4.4: the responses to requests with other credentials are those in the cache of another user.
    @Test func aChangeLeavesTheResponsesToOtherCredentials() async throws {
        let world = World { _ in World.response("one") }
        for user in ["Bearer a", "Bearer b"] {
            _ = try await world.get(Request(World.url, headers: [.authorization: user]))
        }
        _ = try await world.get(Request(World.url, method: .post, headers: [.authorization: "Bearer a"]))
        let statuses = ["Bearer b": "trellis; hit; ttl=60", "Bearer a": "trellis; fwd=uri-miss; ttl=60; stored"]
        for (user, status) in statuses {
            #expect(try await world.get(Request(World.url, headers: [.authorization: user]))[1] == status)
        }
        // The owner of all credentials can remove all responses.
        try await world.cache.remove(World.url)
        #expect(try await world.storedCount == 0)
    }

    /// RFC 7616, section 3.4: the answers to a challenge differ for each request of a user.
    @Test func theAnswersOfAUserToAChallengeAreTheSameCredentials() async throws {
        let world = World { request in World.response(request.headers[.authorization] ?? "none") }
        func request(_ user: String, _ realm: String = "r", count: Int) -> Request {
            let answer = "realm=\"\(realm)\", nonce=\"n\", uri=\"/a\", nc=0000000\(count), response=\"\(count)\""
            return Request(World.url, headers: [.authorization: "Digest username=\"\(user)\", \(answer)"])
        }
        let first = try await world.get(request("ada", count: 1))
        #expect(try await world.get(request("ada", count: 2)) == [first[0], "trellis; hit; ttl=60"])
        for other in [request("bob", count: 1), request("ada", "s", count: 1)] {
            #expect(try await world.get(other)[1] == "trellis; fwd=uri-miss; ttl=60; stored")
        }
        #expect(try await world.storedCount == 3)
    }

    private static let host = HTTPField.Name("Host") ?? .te

    /// RFC 9110, section 7.1: a request with another `Host` is one for another URL.
    @Test func hostsOfTheCallersOwnSeparateResponses() async throws {
        let world = World { request in World.response(request.headers[Self.host] ?? "none") }
        func request(_ host: String, _ method: HTTPRequest.Method = .get) -> Request {
            Request(World.url, method: method, headers: [Self.host: host])
        }
        _ = try await world.get()
        for host in ["a.example", "b.example", "localhost:81"] {
            #expect(try await world.get(request(host)) == [host, "trellis; fwd=uri-miss; ttl=60; stored"])
            #expect(try await world.get(request(host.uppercased())) == [host, "trellis; hit; ttl=60"])
        }
        _ = try await world.get(request("a.example", .post))
        #expect(try await world.get(request("b.example"))[1] == "trellis; hit; ttl=60")
        #expect(try await world.get()[1] == "trellis; hit; ttl=60")
        #expect(try await world.get(request("a.example"))[1] == "trellis; fwd=uri-miss; ttl=60; stored")
        try await world.cache.remove(World.url)
        #expect(try await world.storedCount == 0)
    }

    @Test(arguments: ["localhost", "LOCALHOST:80", "localhost:"])
    func aHostThatIsThatOfTheURLChangesNothing(_ host: String) async throws {
        let world = World { _ in World.response("one") }
        _ = try await world.get()
        #expect(try await world.get(Request(World.url, headers: [Self.host: host]))[1] == "trellis; hit; ttl=60")
        for try await key in world.cache.storage.keys { #expect(key == CacheKey(url: World.url)) }
    }

    /// RFC 9111, section 5.2.1.7: bytes of a coded body are no response for a caller that wants it decoded, and none may be requested.
    @Test func aRangeOfACodedResponseIsNotRequestedWhereNothingMayBeSent() async throws {
        let world = World { _ in World.response("coded", [.cacheControl: "max-age=60", .contentEncoding: "gzip"]) }
        var plain = Request(World.url)
        plain.decodesContent = false
        #expect(try await world.get(plain)[0] == "coded")
        let part = Request(World.url, headers: [.range: "bytes=0-1"]).withCacheMode(.onlyIfCached)
        #expect(try await world.session.data(part).1.status == .gatewayTimeout)
        #expect(world.transport.requests.count == 1)
    }

    @Test func routesSeparateResponses() async throws {
        let world = World { _ in World.response("one") }
        for path in ["/tmp/one", "/tmp/two"] {
            let request = Request(World.url).withRoute(try .unixSocket(path))
            #expect(try await world.get(request)[1] == "trellis; fwd=uri-miss; ttl=60; stored")
            #expect(try await world.get(request)[1] == "trellis; hit; ttl=60")
        }
        var route = Route()
        route.addressFamily = .ipv4
        #expect(try await world.get(Request(World.url).withRoute(route))[1] == "trellis; fwd=uri-miss; ttl=60; stored")
        #expect(try await world.get()[1] == "trellis; hit; ttl=60")
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
        let error = await #expect(throws: TrellisError.self) { for try await _ in stream.body {} }
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
        let error = await #expect(throws: TrellisError.self) { for try await _ in stream.body {} }
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
