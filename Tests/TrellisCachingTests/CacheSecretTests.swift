import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// The separation of stored responses by the secrets of their requests.
@Suite(.timeLimit(.minutes(3)))
struct CacheSecretTests {
    private typealias World = CacheWorld

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
            // A network step leads through the call's task.
            if waits { configuration.steps.network.append(Passing()) }
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
}
