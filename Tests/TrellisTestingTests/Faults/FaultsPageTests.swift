import Testing
import Trellis
import TrellisTesting

/// The code that is tested: a download of a report that survives two failures.
private func report(
    _ url: String, transport: (any Transport)? = nil, _ base: SessionConfiguration = .init()
) async throws -> String {
    var configuration = base
    configuration.retry = RetryPolicy(retryLimit: 2, exponentialBackoffScale: .zero)
    return try await Session(configuration: configuration, transport: transport).string(url)
}

/// The tests that the page Faults shows, under the names that they have there.
@Suite(.timeLimit(.minutes(3)))
struct FaultsPageTests {
    @Test func aReportSurvivesTwoFailures() async throws {
        let mock = MockTransport { _ in .text("a report") }
        let transport = FaultTransport(
            wrapping: mock, faults: [.first(1, .refusedConnection), .first(2, .reset(.responseHead))])
        #expect(try await report("http://reports.example/", transport: transport) == "a report")
        #expect(transport.faults == [.refusedConnection, .reset(.responseHead)])
    }

    @Test func aReportSurvivesTwoFailuresOverASocket() async throws {
        let faults: FaultPlan = [.first(1, .refusedConnection, .reset(.responseHead))]
        let server = try LoopbackServer.http(faults: faults) { _ in .text("a report") }
        let text = try await report(server.url("/", host: "reports.example"), server.sessionConfiguration())
        #expect(text == "a report")
        #expect(server.faults == [.refusedConnection, .reset(.responseHead)])
    }

    @Test func aSlowServerEndsInATimeout() async throws {
        let clock = TestClock()
        let mock = MockTransport { _ in .text("late") }
        let transport = FaultTransport(wrapping: mock, faults: [.always(.stall(after: 2))], clock: clock)
        let session = Session(transport: transport, clock: clock)
        let call = Task { try await session.string("http://example.com/") }
        try await transport.waitUntilFaults(count: 1)
        await clock.advance(by: .seconds(60))  // the default limit on idle time
        let error = await #expect(throws: TrellisError.self) { try await call.value }
        #expect(error?.kind == .idleTimeout)
    }

    @Test func aReportComesAfterAnHour() async throws {
        let clock = TestClock()
        let faults: FaultPlan = [.always(.latency(.seconds(3_600), .responseHead))]
        let server = try LoopbackServer.http(faults: faults, clock: clock) { _ in .text("a report") }
        let call = Task { try await report(server.url("/")) }
        try await server.waitUntilFaults(count: 1)
        await clock.advance(by: .seconds(3_600))
        #expect(try await call.value == "a report")
    }

    @Test func onlyAWorkerIsLetIn() async throws {
        let tls = try LoopbackServer.TLS(names: ["api.example.com"], requiresClientCertificate: true)
        let server = try LoopbackServer.https(tls: tls) { _ in .text("come in") }
        var configuration = server.sessionConfiguration()
        let url = server.url("/", host: "api.example.com")
        let stranger = Session(configuration: configuration)
        let error = await #expect(throws: TrellisError.self) { try await stranger.string(url) }
        #expect(error?.reason == .securityFailed(.clientIdentity(.required)))
        configuration.tls.clientIdentity = try tls.authority.clientIdentity("worker")
        #expect(try await Session(configuration: configuration).string(url) == "come in")
    }

    @Test func aReportIsRequestedThreeTimes() async throws {
        let server = try LoopbackServer.http { _ in .text("a long report") }
        let proxy = try FaultProxy(to: server, toxics: [.byteLimit(90, of: .downstream)])
        await #expect(throws: TrellisError.self) { try await report(proxy.url("/")) }
        #expect(proxy.connections.map(\.sentDownstream) == [90, 90, 90])
        proxy.toxics = []
        #expect(try await report(proxy.url("/")) == "a long report")
    }
}
