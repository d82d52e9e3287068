import FoundationEssentials
import Testing
import Trellis
import TrellisTesting

/// The rules of a plan choose the requests that have faults.
@Suite(.timeLimit(.minutes(3)))
struct FaultPlanTests {
    /// Returns the statuses of requests one after the other, with 0 for an error.
    private static func statuses(_ plan: FaultPlan, _ count: Int, path: String = "/") async throws -> [Int] {
        let mock = MockTransport { _ in MockResponse(status: 204) }
        let session = Session(transport: FaultTransport(wrapping: mock, faults: plan))
        return try await statuses(session, "http://server.test\(path)", count)
    }

    private static func statuses(_ session: Session, _ url: String, _ count: Int) async throws -> [Int] {
        var statuses: [Int] = []
        for _ in 0..<count {
            do {
                // Of a method that is not idempotent: others are repeated after a failure on a connection that was used before.
                statuses.append(try await session.upload(Data("a body".utf8), to: url).1.status.code)
            } catch is TrellisError {
                statuses.append(0)
            }
        }
        await session.shutdown()
        return statuses
    }

    @Test func theFirstRequestsHaveFaults() async throws {
        #expect(try await Self.statuses([.first(2, .reset(.responseHead))], 4) == [0, 0, 204, 204])
    }

    @Test func theFirstRequestsHaveNoFaults() async throws {
        #expect(try await Self.statuses([.after(2, .reset(.responseHead))], 4) == [204, 204, 0, 0])
    }

    @Test func everyThirdRequestHasAFault() async throws {
        #expect(try await Self.statuses([.every(3, .unresolvedName)], 7) == [204, 204, 0, 204, 204, 0, 204])
    }

    @Test func noRuleMeansNoFault() async throws {
        #expect(try await Self.statuses([], 2) == [204, 204])
    }

    @Test func aRandomPartIsTheSameInEveryRun() async throws {
        let plan: FaultPlan = [.with(probability: 0.5, seed: 7, .refusedConnection)]
        let first = try await Self.statuses(plan, 40)
        #expect(try await Self.statuses(plan, 40) == first)
        #expect((5...35).contains(first.count { $0 == 0 }))
        #expect(try await Self.statuses([.with(probability: 0.5, seed: 8, .refusedConnection)], 40) != first)
        #expect(try await Self.statuses([.with(probability: 0, seed: 7, .refusedConnection)], 3) == [204, 204, 204])
        #expect(try await Self.statuses([.with(probability: 1, seed: 7, .refusedConnection)], 2) == [0, 0])
    }

    /// A rule counts only the requests that its predicates match.
    @Test func aRuleIsForSomeRequests() async throws {
        let mock = MockTransport { _ in MockResponse(status: 204) }
        let plan: FaultPlan = [
            FaultRule.first(1, .reset(.responseHead)).on(path: "/a").on { $0.method == "GET" && $0["X-Key"] == "1" }
        ]
        let session = Session(transport: FaultTransport(wrapping: mock, faults: plan))
        var failures: [String] = []
        for (path, key) in [("/a", "2"), ("/b", "1"), ("/a?q", "1"), ("/a", "1")] {
            do {
                _ = try await session.data("http://server.test\(path)", headers: [.init("X-Key") ?? .accept: key])
            } catch is TrellisError {
                failures.append(path)
            }
        }
        #expect(failures == ["/a?q"])
    }

    /// Faults of several rules are added, and the first one that ends the exchange is the last.
    @Test func theFaultsOfSeveralRulesHappenInTheOrderOfTheirMoments() async throws {
        let plan: FaultPlan = [
            .always(.reset(.responseHead)), .always(.latency(.zero, .requestHead), .truncation(after: 1)),
        ]
        let transport = FaultTransport(wrapping: MockTransport { _ in .text("hello") }, faults: plan)
        let error = await #expect(throws: TrellisError.self) {
            try await Session(transport: transport).data("http://server.test/")
        }
        #expect(error?.kind == .receive)
        #expect(transport.faults == [.latency(.zero, .requestHead), .reset(.responseHead)])
    }

    // MARK: On a socket

    @Test func aServerCountsRequests() async throws {
        let server = try LoopbackServer.http(faults: [.every(2, .reset(.responseHead))]) { _ in .init(204) }
        #expect(try await Self.statuses(Session(), server.url(), 5) == [204, 0, 204, 0, 204])
        #expect(server.requests.count == 5)
    }

    @Test func aServerCountsLookupsForItsName() async throws {
        let server = try LoopbackServer.http(faults: [.first(2, .unresolvedName)]) { _ in .init(204) }
        let session = Session(configuration: server.sessionConfiguration())
        #expect(try await Self.statuses(session, server.url("/", host: "a.test"), 4) == [0, 0, 204, 204])
        #expect(server.acceptedCount == 1)
    }

    @Test func aServerCountsHandshakes() async throws {
        let server = try LoopbackServer.https(faults: [.first(1, .tls(.certificate(.expired)))]) { _ in .init(204) }
        let session = Session(configuration: server.sessionConfiguration())
        #expect(try await Self.statuses(session, server.url(), 3) == [0, 204, 204])
        #expect(server.acceptedCount == 2)
        // The client knows of the failure before the server does.
        try await server.waitUntilAllClosed()
        #expect(server.handshakeFailures.count == 1)
    }

    @Test func aServerPlaysTheFaultsOfOneRoute() async throws {
        let plan: FaultPlan = [.always(.framing(.fieldLine)).on { $0.path == "/bad" }]
        let server = try LoopbackServer.http(faults: plan) { _ in .text("good") }
        let session = Session()
        #expect(try await session.string(server.url("/good")) == "good")
        let error = await #expect(throws: TrellisError.self) { try await session.string(server.url("/bad")) }
        #expect(error?.kind == .malformedResponse)
        #expect(try await session.string(server.url("/good")) == "good")
        await session.shutdown()
    }

    @Test(
        arguments: [
            [.always(.tls(.version))], [.always(.silence(.handshake))], [.always(.http2(.goAway(.noError)))],
            [.always(.unresolvedName).on(path: "/")],
        ] as [FaultPlan])
    func aServerRefusesFaultsThatItCannotPlay(_ plan: FaultPlan) {
        #expect(throws: UnplayableFault.self) { try LoopbackServer.http(faults: plan) { _ in .init(204) } }
    }

    @Test func aServerOfHTTP2RefusesFaultsThatItCannotPlay() {
        #expect(throws: UnplayableFault.self) { try LoopbackServer.http2(faults: [.always(.framing(.statusLine))]) }
        #expect(throws: UnplayableFault.self) {
            try LoopbackServer.http2(faults: [.always(.reset(.responseHead)).on(path: "/")])
        }
    }

    /// A fault that cannot happen is an error of its request, so that no test passes because of it.
    @Test func aFaultOfTLSNeedsAURLWithTLS() async {
        let mock = MockTransport { _ in .text("x") }
        let session = Session(transport: FaultTransport(wrapping: mock, faults: [.always(.tls(.handshake))]))
        let error = await #expect(throws: TrellisError.self) { try await session.data("http://server.test/") }
        #expect(error?.kind == .other)
        #expect(error?.description.contains("http://server.test/ has no TLS") == true)
    }
}
