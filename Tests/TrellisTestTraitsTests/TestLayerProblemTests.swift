import CurlEngine
import FoundationEssentials
import Testing
@_spi(Transport) import Trellis
import TrellisTestTraits
@_spi(Transport) import TrellisTesting

/// The layers of a trait report their problems as issues that read well.
@Suite(.timeLimit(.minutes(3)))
struct TestLayerProblemTests {
    private static func read(_ url: String) async throws -> String { try await Session().string(url) }

    @Test func faultsThatDoNotHappenAreAnIssueAtTheTrait() async throws {
        let trait: TransportTrait = .trellis(
            .mock { _ in .text("short") }, .faults([.always(.truncation(after: 100), .drip(bytes: 1, every: .zero))]))
        let unused = try await issues(trait)
        #expect(
            unused.map { $0.comments.first?.rawValue } == [
                "no planned fault has happened (close (responseBody(after: 100)), 1 bytes each 0.0 seconds): "
                    + "nothing was requested"
            ])
        #expect(unused.first?.sourceLocation?.line == #line - 8)
    }

    @Test func theRequestsAreShownThatHadNoFault() async throws {
        let plan: FaultPlan = [.always(.truncation(after: 100))]
        let found = try await issues(.trellis(.mock { _ in .text("short") }, .faults(plan))) {
            _ = try await Self.read("http://api.example/users/7?token=x")
        }
        #expect(
            found.map { $0.comments.first?.rawValue } == [
                "no planned fault has happened (close (responseBody(after: 100))): "
                    + "requested were GET http://api.example/users/7?token=REDACTED"
            ])
        let allowed = try await issues(.trellis(.mock { _ in .text("short") }, .faults(plan, allowsUnused: true)))
        #expect(allowed.isEmpty)
        let happened = try await issues(.trellis(.mock { _ in .text("x") }, .faults([.always(.refusedConnection)]))) {
            _ = try? await Self.read("http://api.example/")
        }
        #expect(happened.isEmpty)
    }

    /// A route behind faults stays one that must be requested, and its issue is reported once.
    @Test func aRouteBehindFaultsIsReportedOnce() async throws {
        let faults: TestLayer = .faults([.always(.refusedConnection)])
        let found = try await issues(
            .trellis(.router { $0.route(.get, "/users/1").respond(with: .text("1")) }, faults)
        ) {
            _ = try? await Self.read("http://api.example/users/1")
        }
        #expect(found.map { $0.comments.first?.rawValue } == ["GET /users/1 was not requested"])
    }

    @Test func faultsOfAnInnerTraitDoNotReportTheRoutesOfTheOuterOne() async throws {
        let inner: TransportTrait = .trellis(.faults([.first(1, .refusedConnection)]))
        let found = try await issues(.trellis(.router { $0.route(.get, "/users/1").respond(with: .text("1")) })) {
            try await inner.scope {
                _ = try? await Self.read("http://api.example/users/1")
            }
        }
        #expect(found.map { $0.comments.first?.rawValue } == ["GET /users/1 was not requested"])
    }

    @Test func aTransportThatReplacesTheOneBehindFaultsSilencesBoth() async throws {
        let faults: TransportTrait = .trellis(.faults([.always(.refusedConnection)]))
        let mock: TransportTrait = .trellis(.mock { _ in .text("of the test") })
        let found = try await issues(.trellis(.router { $0.route(.get, "/users/1").respond(with: .text("1")) })) {
            try await faults.scope {
                try await mock.scope {
                    let text = try await Self.read("http://api.example/users/1")
                    #expect(text == "of the test")
                }
            }
        }
        #expect(found.isEmpty)
    }

    @Test func anErrorOfAServersHandlerIsAnIssue() async throws {
        struct Odd: Error {}
        let found = try await issues(.trellis(.http { _ in throw Odd() })) {
            let session = try #require(Session.current)
            let status = try await session.data("/").1.status.code
            #expect(status == 500)
        }
        #expect(found.map { $0.comments.first?.rawValue } == ["the server of the test has thrown Odd()"])
    }

    /// A test without a transport and without a server sends nothing, and does not pass although it has handled the error.
    @Test func aRequestOfATestWithoutATransportIsAnIssue() async throws {
        let found = try await issues(.trellis(.clock)) {
            let session = try #require(Session.current)
            await #expect(throws: TrellisError.self) { try await session.data("http://a.example/?token=s3cret") }
        }
        #expect(
            found.map { $0.comments.first?.rawValue } == [
                "the test has no network, and GET http://a.example/?token=REDACTED was not sent"
            ])
        let none = try await issues(.trellis(.clock)) { _ = try #require(Session.current) }
        #expect(none.isEmpty)
    }

    // MARK: Ends that fail

    /// A transport that works, and whose end fails.
    private struct FailingEnd: TestTransport {
        struct Unwritable: Error {}
        private let mock = MockTransport { _ in .text("x") }

        func start(_ request: TransportRequest, events: any TransportEvents) -> any TransportTask {
            mock.start(request, events: events)
        }
        func finish(hasFailed: Bool) async throws -> [TestProblem] { throw Unwritable() }
    }

    /// The problems that were found before the end are reported with its error, of which they are the likely cause.
    @Test func theProblemsBeforeAnEndThatFailsAreKept() async throws {
        let failing = TransportProvider { FailingEnd() }
        let found = try await issues(.trellis(failing, .faults([.always(.refusedConnection)])))
        #expect(
            found.map { $0.comments.first?.rawValue } == [
                "no planned fault has happened (refused connection): nothing was requested",
                "the end of the transport has failed: Unwritable()",
            ])
        let alone = try await issues(.trellis(failing))
        #expect(alone.count == 1 && alone.first?.error is FailingEnd.Unwritable)
    }

    // MARK: Layers that do not belong together

    private func expectError(_ trait: TransportTrait, _ beginning: String) async throws {
        let found = try await issues(trait) { Issue.record("not reached") }
        #expect(found.count == 1)
        let error = found.first?.error as? TestLayerError
        #expect(error?.description.hasPrefix(beginning) == true, "\(String(describing: error))")
    }

    @Test func faultsNeedATransport() async throws {
        try await expectError(
            .trellis(.faults([.always(.refusedConnection)])),
            "faults (refused connection) need something to happen to: put .router")
    }

    @Test func aProxyNeedsAServer() async throws {
        try await expectError(.trellis(.mock { _ in .text("x") }, .proxy()), "a proxy needs a server: put .http")
    }

    @Test func aTestHasATransportOrAServer() async throws {
        try await expectError(
            .trellis(.mock { _ in .text("x") }, .http { _ in .text("x") }), "a test has a transport or a server")
    }

    @Test func aServerThatRunsTakesNoFaults() async throws {
        let inner: TransportTrait = .trellis(.faults([.always(.refusedConnection)]))
        let found = try await issues(.trellis(.http { _ in .text("x") })) {
            try await inner.scope {}
        }
        let error = found.first?.error as? TestLayerError
        #expect(error?.description.hasPrefix("a server that runs takes no more faults (refused connection)") == true)
    }

    /// The server and its session end with the test.
    @Test func nothingIsLeftAfterTheTest() async throws {
        let (server, session) = (Locked<LoopbackServer?>(nil), Locked<Session?>(nil))
        let found = try await issues(.trellis(.http { _ in .text("x") }, .proxy())) {
            let used = try #require(Session.current)
            _ = try await used.string("/")
            session.withLock { $0 = used }
            server.withLock { $0 = LoopbackServer.current }
        }
        #expect(found.isEmpty)
        #expect(server.withLock { $0?.openCount } == 0)
        let ended = try #require(session.withLock { $0 })
        let error = await #expect(throws: TrellisError.self) { try await ended.string("http://127.0.0.1:1/") }
        #expect(error?.kind == .cancelled)
    }
}
