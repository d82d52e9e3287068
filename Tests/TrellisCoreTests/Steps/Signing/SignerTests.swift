import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import TrellisCaching
import TrellisTesting

@testable import TrellisCore

/// Signers over a mock transport: each request on the wire has the seal of its own bytes.
@Suite(.timeLimit(.minutes(3)))
struct SignerTests {
    /// A session whose requests are sealed, with the requests that its server has received.
    private struct World {
        let seal = Seal()
        let transport: MockTransport
        let session: Session

        init(
            _ change: (inout SessionConfiguration) -> Void = { _ in },
            responding respond: @escaping @Sendable (Int, TransportRequest) -> MockResponse = { _, _ in .text("ok") }
        ) {
            let count = Locked(0)
            transport = MockTransport { respond(count.next(), $0) }
            var configuration = SessionConfiguration()
            configuration.steps.signers = [seal]
            change(&configuration)
            session = Session(configuration: configuration, transport: transport)
        }

        /// The numbers of the seals that are intact, 0 for a request without a seal, and -1 for a seal of other bytes.
        var seals: [Int] {
            transport.requests.map { request in
                guard let number = request["Date-Of-Seal"] else {
                    return request["Seal"] == nil && request["Content-Digest"] == nil ? 0 : -1
                }
                let authority = request.url.split(separator: "/").dropFirst().first ?? ""
                let isIntact = Seal.isIntact(
                    request.method.rawValue, String(authority), request.path + (request.query.map { "?\($0)" } ?? ""),
                    request.headers, request.body?.data ?? Data())
                return isIntact ? Int(number) ?? -1 : -1
            }
        }
    }

    /// Returns a redirect.
    private static func redirect(_ status: Int, to target: String) -> MockResponse {
        MockResponse(status: status, headers: [.location: target])
    }

    @Test func theSealIsThatOfTheWholeRequest() async throws {
        let jar = CookieJar()
        await jar.store(["visit=1"], from: try #require(CookieURL("http://a.example/")))
        let world = World {
            $0.steps.cookies = jar
            $0.steps.adapters = [Adapter { request, _ in request.withAuthorization(bearerToken: "token") }]
            $0.defaultHeaders["X-Team"] = "blue"
        }
        var request = Request("http://a.example:8080/caf\u{E9}?q=a b", method: .put, body: .string("text"))
        request.compression = .gzip
        _ = try await world.session.data(request)
        #expect(world.seals == [1])
        #expect(world.seal.signed.withLock { $0 } == ["a.example:8080/caf%C3%A9?q=a%20b"])
        let sent = try #require(world.transport.requests.first)
        let names: [HTTPField.Name] = [
            .cookie, .authorization, .userAgent, .acceptEncoding, .contentType, .contentEncoding,
        ]
        for name in names { #expect(sent.headers.contains(name), "\(name)") }
        #expect(sent["X-Team"] == "blue" && sent[HTTPField.Name.accept.rawName] == "*/*")
        #expect(sent["Content-Digest"] == "sha-256=:\(Seal.digest(try #require(sent.body?.data))):")
    }

    /// The engine writes the host in lower case and without the zone of an address, and `*` for `OPTIONS` alone.
    @Test(arguments: [
        ("http://A.Example:8080/P", HTTPRequest.Method.get, "a.example:8080 /P"),
        ("https://A.Example:443/", .get, "a.example /"), ("http://[fe80::1%25lo]:81/", .get, "[fe80::1]:81 /"),
        ("http://a.example", .get, "a.example /"), ("http://a.example", .options, "a.example *"),
    ])
    func theSignedHostAndTargetAreThoseOfTheWire(_ url: String, _ method: HTTPRequest.Method, _ text: String) throws {
        let wire = try WireRequest(Request(url, method: method).setting(\.sendsURLUnchanged, to: true))
        #expect("\(wire.authority) \(wire.target)" == text)
    }

    /// Every way of sending takes the signers: verbs, handles and streams.
    @Test func everyVerbAndHandleSigns() async throws {
        let world = World()
        _ = try await world.session.data("http://a.example/")
        _ = try await world.session.stream("http://a.example/")
        _ = try await world.session.request("http://a.example/").data()
        _ = try await world.session.upload(.stream { AsyncStream<Data> { $0.finish() } }, to: "http://a.example/")
        #expect(world.seals == [1, 2, 3, 4])
    }

    @Test func aRedirectWithinTheOriginIsSealedAgain() async throws {
        let world = World(responding: { number, _ in number == 1 ? Self.redirect(307, to: "/new?b=2") : .text("ok") })
        let (_, response) = try await world.session.data(
            Request("http://a.example/old?a=1", method: .post, body: .string("text")))
        #expect(response.url == "http://a.example/new?b=2")
        #expect(world.seals == [1, 2])
    }

    @Test func anotherOriginGetsNoSealAndEndsTheSealing() async throws {
        let targets = ["http://b.example/", "http://a.example/back"]
        let world = World(responding: { number, _ in
            targets.indices.contains(number - 1) ? Self.redirect(307, to: targets[number - 1]) : .text("ok")
        })
        _ = try await world.session.data(Request("http://a.example/", method: .post, body: .string("text")))
        #expect(world.transport.requests.map(\.url) == ["http://a.example/"] + targets)
        #expect(world.seals == [1, 0, 0])
    }

    @Test func aRetryIsSealedAgain() async throws {
        let world = World(
            {
                var policy = RetryPolicy(retryLimit: 2)
                policy.exponentialBackoffScale = .zero
                $0.steps.intercept(with: policy)
            },
            responding: { number, _ in
                number < 3 ? MockResponse(status: 503, headers: [.retryAfter: "0"]) : .text("ok")
            })
        _ = try await world.session.data(Request("http://a.example/", method: .put, body: .string("text")))
        #expect(world.seals == [1, 2, 3])
    }

    @Test func aRequestWithARefreshedCredentialIsSealedAgain() async throws {
        let world = World(
            {
                let interceptor = AuthenticationInterceptor(
                    authenticator: TokenAuthenticator(), credential: Token("old"))
                $0.steps.intercept(with: interceptor)
            },
            responding: { _, request in
                request["Authorization"] == "Bearer old" ? MockResponse(status: 401) : .text("ok")
            })
        _ = try await world.session.data("http://a.example/")
        #expect(world.transport.requests.map { $0["Authorization"] } == ["Bearer old", "Bearer token-1"])
        #expect(world.seals == [1, 2])
    }

    @Test func theReplyToAChallengeIsSealedAgain() async throws {
        let world = World(responding: { number, _ in
            number == 1
                ? MockResponse(status: 401, headers: [.wwwAuthenticate: "Basic realm=\"r\""]) : .text("ok")
        })
        _ = try await world.session.data(
            Request("http://a.example/").respondingToChallenges(username: "ann", password: "pw"))
        #expect(world.seals == [1, 2])
    }

    /// The wait is before the seal, so that its date is that of the wire.
    @Test func aRequestIsSealedWhenItsTurnHasCome() async throws {
        let clock = TestClock()
        let seal = Seal()
        var configuration = SessionConfiguration()
        configuration.steps.signers = [seal]
        configuration.steps.limit(rate: RateLimit(requestsPerSecond: 1, burst: 1))
        let session = Session(
            configuration: configuration, transport: MockTransport { _ in .text("ok") }, clock: clock)
        _ = try await session.data("http://a.example/1")
        let second = Task { try await session.data("http://a.example/2") }
        await session.settle()
        #expect(seal.signed.withLock { $0 } == ["a.example/1"])
        clock.move(by: .seconds(1))
        _ = try await second.value
        #expect(seal.signed.withLock { $0 } == ["a.example/1", "a.example/2"])
    }

    private struct Closure: RequestSigner {
        let change: @Sendable (inout WireRequest) throws -> Void

        func sign(_ request: inout WireRequest, context: CallContext) async throws { try change(&request) }
    }

    @Test func theErrorOfASignerIsThatOfTheCall() async throws {
        struct NoKey: Error {}
        let world = World { $0.steps.signers = [Closure { _ in throw NoKey() }] }
        await #expect(throws: NoKey.self) { try await world.session.data("http://a.example/") }
        #expect(world.transport.startedCount == 0)
    }

    @Test func aFieldThatASignerRemovesIsNotSent() async throws {
        let world = World {
            $0.steps.signers = [Closure { $0.headers[.userAgent] = nil }, Closure { $0.headers["A"] = "1" }]
        }
        _ = try await world.session.data("http://a.example/")
        let sent = try #require(world.transport.requests.first)
        #expect(sent["User-Agent"] == nil && sent["A"] == "1")
    }

    @Test(arguments: ["Content-Length", "Host", "Transfer-Encoding"])
    func theFramingIsNotTheirs(_ name: String) async throws {
        let world = World { $0.steps.signers = [Closure { $0.headers[name] = "7" }] }
        _ = try await world.session.data("http://a.example/")
        #expect(world.transport.requests.first?[name] == nil)
    }

    @Test func aNameThatIsNoTokenIsAnError() async throws {
        let world = World { $0.steps.signers = [Closure { $0.headers["no token"] = "1" }] }
        let error = await #expect(throws: TrellisError.self) { try await world.session.data("http://a.example/") }
        #expect(error?.kind == .invalidRequest)
    }

    /// The session's cache does not know for whom a signer of the request signs.
    @Test func aRequestWithItsOwnSignersDoesNotUseTheSessionsCache() async throws {
        let world = World(
            {
                $0.steps.signers = []
                $0.steps.cache = HTTPCache(storage: MemoryCacheStorage())
            },
            responding: { number, _ in
                MockResponse(headers: [.cacheControl: "max-age=60"], body: Data("\(number)".utf8))
            })
        let request = Request("http://a.example/").withSteps { $0.signers = [Seal()] }
        #expect(try await world.session.string(request) == "1")
        #expect(try await world.session.string(request) == "2")
        #expect(try await world.session.string("http://a.example/") == "3")
        #expect(try await world.session.string("http://a.example/") == "3")
    }
}
