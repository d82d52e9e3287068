import FoundationEssentials
import Testing
import Trellis
import TrellisTestTraits
import TrellisTesting

/// The code under test, with a session that tests cannot replace.
private enum API {
    static let session = Session()

    static func user(_ id: Int) async throws -> String { try await session.string("http://api.example/users/\(id)") }
}

/// A server that counts its requests, as an application has state.
private actor Counter {
    private var count = 0

    func next() -> Int {
        count += 1
        return count
    }
}

/// The layers of a trait give each case of a test faults, servers, proxies, clocks and sessions of its own.
@Suite(.timeLimit(.minutes(3)))
struct TestLayerTests {
    // MARK: Faults

    @Test(.trellis(.mock { _ in .text("Ada") }, .faults([.first(1, .reset(.responseHead))])))
    func faultsAreAroundTheTransportOfTheSameTrait() async throws {
        let error = await #expect(throws: TrellisError.self) { try await API.user(1) }
        #expect(error?.kind == .receive)
        #expect(try await API.user(1) == "Ada")
        #expect(FaultTransport.current?.faults == [.reset(.responseHead)])
        #expect(MockTransport.current?.requests.last?.path == "/users/1")
    }

    @Test(
        .trellis(.router { $0.route(.get, "/users/1").respond(with: .text("Ada")) }),
        .trellis(.faults([.first(1, .truncation(after: 1))])))
    func faultsAreAroundTheTransportOfTheTraitBeforeThem() async throws {
        let error = await #expect(throws: TrellisError.self) { try await API.user(1) }
        #expect(error?.kind == .truncatedBody)
        #expect(try await API.user(1) == "Ada")
        #expect(MockRouter.current?.requests.count == 2)
    }

    @Suite(.trellis(.router { $0.route(.get, "/users/{id}").respond(with: .text("Ada")).optional() }))
    struct OfASuite {
        @Test(.trellis(.faults([.always(.refusedConnection)])), arguments: [1, 2])
        func theTransportOfASuiteCanHaveFaults(_ id: Int) async throws {
            let error = await #expect(throws: TrellisError.self) { try await API.user(id) }
            #expect(error?.kind == .connect)
            #expect(MockRouter.current?.requests.isEmpty == true)
            #expect(FaultTransport.current?.faults == [.refusedConnection])
        }
    }

    // MARK: Servers

    @Test(.trellis(.http { request in .text("Ada of \(request.path)") }), arguments: 0..<3)
    func aServerOnASocketResponds(_ id: Int) async throws {
        let session = try #require(Session.current)
        #expect(try await session.string("users/\(id)") == "Ada of /users/\(id)")
        #expect(LoopbackServer.current?.requests.count == 1)
    }

    @Test(.trellis(.https(names: ["api.example"]) { request in .text("secret of \(request.path)") }))
    func aServerWithTLSIsTrustedByTheSessionOfTheTest() async throws {
        let (session, server) = (try #require(Session.current), try #require(LoopbackServer.current))
        #expect(try await session.string("users/1") == "secret of /users/1")
        #expect(try await session.string(server.url("/", host: "api.example")) == "secret of /")
        let stranger = Session()
        let error = await #expect(throws: TrellisError.self) { try await stranger.string(server.url()) }
        #expect(error?.kind == .untrusted)
        await stranger.shutdown()
    }

    @Test(
        .trellis(
            .https(requiresClientCertificate: true) { _ in .text("come in") },
            .session { $0.tls.clientIdentity = try? LoopbackServer.current?.authority?.clientIdentity("worker") }))
    func theSessionOfATestCanHaveACertificate() async throws {
        let session = try #require(Session.current)
        #expect(try await session.string("/") == "come in")
    }

    @Test(
        .trellis(
            .http { _ in .text("a long report") }, .proxy([.byteLimit(90, of: .downstream)]),
            .session { $0.httpVersion = .http1Only }))
    func aProxyIsInFrontOfTheServer() async throws {
        let (session, proxy) = (try #require(Session.current), try #require(FaultProxy.current))
        let error = await #expect(throws: TrellisError.self) { try await session.string("report") }
        #expect(error?.kind == .truncatedBody || error?.kind == .receive)
        #expect(proxy.connections.map(\.sentDownstream) == [90])
        proxy.toxics = []
        #expect(try await session.string("report") == "a long report")
    }

    @Test(.trellis(.https { _ in .text("secret") }), .trellis(.proxy()))
    func aProxyCanBeInFrontOfTheServerOfTheTraitBeforeIt() async throws {
        let session = try #require(Session.current)
        #expect(try await session.string("/") == "secret")
        #expect(FaultProxy.current?.connections.count == 1)
    }

    @Test(.trellis(.http { _ in .text("late") }, .faults([.first(1, .reset(.responseHead))])))
    func aServerPlaysTheFaultsOfItsTrait() async throws {
        let session = try #require(Session.current)
        let error = await #expect(throws: TrellisError.self) { try await session.upload(Data("x".utf8), to: "a") }
        #expect(error?.kind == .receive)
        #expect(LoopbackServer.current?.faults == [.reset(.responseHead)])
        #expect(FaultTransport.current == nil)
    }

    @Test(.trellis(.http2(response: .text("two")), .faults([.first(1, .http2(.resetStream(.internalError)))])))
    func aServerOfHTTP2Responds() async throws {
        let session = try #require(Session.current)
        let error = await #expect(throws: TrellisError.self) { try await session.string("/") }
        #expect(error?.kind == .http2)
        #expect(try await session.string("/") == "two")
    }

    @Suite(.trellis(.noNetwork))
    struct WithoutANetwork {
        @Test(.trellis(.http { _ in .text("of the server") }))
        func aServerReplacesTheTransportOfASuite() async throws {
            let session = try #require(Session.current)
            #expect(try await session.string("/") == "of the server")
        }

        @Test(.trellis(.http { _ in .text("of the server") }), .trellis(.mock { _ in .text("of the mock") }))
        func aTransportReplacesAServer() async throws {
            #expect(LoopbackServer.current == nil)
            let session = try #require(Session.current)
            #expect(try await session.string("http://api.example/") == "of the mock")
        }
    }

    // MARK: Time

    @Test(.trellis(.mock { _ in .text("late") }, .faults([.always(.stall(after: 2))]), .clock))
    func aClockMovesTheLimitsOfTheSession() async throws {
        let (session, clock) = (try #require(Session.current), try #require(TestClock.current))
        let call = Task { try await session.string("http://example.com/") }
        try await FaultTransport.current?.waitUntilFaults(count: 1)
        await session.settle()
        clock.move(by: .seconds(60))
        let error = await #expect(throws: TrellisError.self) { try await call.value }
        #expect(error?.kind == .idleTimeout)
    }

    @Test(.trellis(.clock), .trellis(.http { _ in .text("late") }, .faults([.always(.latency(.seconds(3600), .end))])))
    func aClockMovesTheFaultsOfAServer() async throws {
        let (session, clock) = (try #require(Session.current), try #require(TestClock.current))
        let call = Task { try await session.string("/") }
        try await LoopbackServer.current?.waitUntilFaults(count: 1)
        clock.move(by: .seconds(3600))
        #expect(try await call.value == "late")
    }

    @Test(.trellis(.clock), arguments: [1, 2])
    func everyCaseHasAClockOfItsOwn(_ seconds: Int) throws {
        let clock = try #require(TestClock.current)
        clock.move(by: .seconds(seconds))
        #expect(clock.now.elapsed == .seconds(seconds))
    }

    // MARK: Applications

    @Test(
        .trellis(
            .application {
                let counter = Counter()
                return { _ in .text("\(await counter.next())") }
            }), arguments: [1, 2])
    func everyCaseHasAnApplicationOfItsOwn(_ id: Int) async throws {
        #expect(try await API.user(id) == "1")
        #expect(try await API.user(id) == "2")
    }

    // MARK: Outside

    @Test func thereAreNoPartsOutsideATrait() {
        #expect(Session.current == nil && TestClock.current == nil && LoopbackServer.current == nil)
        #expect(FaultProxy.current == nil && FaultTransport.current == nil)
    }
}
