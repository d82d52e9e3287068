import FoundationEssentials
import Testing
import Trellis
import TrellisTesting

/// Latencies and drips of a server on a socket last until the test moves the clock.
@Suite(.timeLimit(.minutes(3)))
struct LoopbackClockTests {
    private static let body = Data("body".utf8)

    @Test(arguments: FaultTransportTests.moments)
    func aLatencyLastsUntilTheClockIsMoved(_ moment: Fault.Moment) async throws {
        let clock = TestClock()
        let faults: FaultPlan = [.always(.latency(.seconds(3_600), moment))]
        let server = try LoopbackServer.http(faults: faults, clock: clock) { request in
            .text("echo \(request.body.count)")
        }
        let session = Session(configuration: server.sessionConfiguration())
        let url = server.url("/", host: "server.test")
        let call = Task { try await session.upload(Self.body, to: url).0 }
        try await server.waitUntilFaults(count: 1)
        clock.move(by: .seconds(3_600))
        #expect(try await call.value == Data("echo 4".utf8))
        #expect(server.faults == [.latency(.seconds(3_600), moment)])
    }

    @Test func aLatencyOfAHandshakeLastsUntilTheClockIsMoved() async throws {
        let clock = TestClock()
        let faults: FaultPlan = [.always(.latency(.seconds(3_600), .handshake))]
        let server = try LoopbackServer.https(faults: faults, clock: clock) { _ in .text("secret") }
        let session = Session(configuration: server.sessionConfiguration())
        let url = server.url("/")
        let call = Task { try await session.string(url) }
        try await server.waitUntilFaults(count: 1)
        clock.move(by: .seconds(3_600))
        #expect(try await call.value == "secret")
    }

    /// The pauses are counted from the beginning of the first one: one move of the clock ends all of them.
    @Test(arguments: [HTTPVersionPolicy.http1Only, .http2PriorKnowledge])
    func aDripEndsWhenTheClockIsMovedOverAllOfIt(_ version: HTTPVersionPolicy) async throws {
        let clock = TestClock()
        let faults: FaultPlan = [.always(.drip(bytes: 4, every: .seconds(60)))]
        let server =
            try version == .http1Only
            ? LoopbackServer.http(faults: faults, clock: clock) { _ in .text("hello world") }
            : LoopbackServer.http2(faults: faults, clock: clock, response: .text("hello world"))
        var configuration = SessionConfiguration()
        configuration.httpVersion = version
        let (session, url) = (Session(configuration: configuration), server.url("/"))
        let call = Task { try await session.string(url) }
        try await server.waitUntilFaults(count: 1)
        clock.move(by: .seconds(180))
        #expect(try await call.value == "hello world")
    }

    /// A move of the clock that is too short does not end a latency, and the end of the session does.
    @Test func aLatencyEndsWithItsConnection() async throws {
        let clock = TestClock()
        let faults: FaultPlan = [.always(.latency(.seconds(60), .responseHead))]
        let server = try LoopbackServer.http(faults: faults, clock: clock) { _ in .text("late") }
        let session = Session()
        let url = server.url("/")
        let call = Task { try await session.string(url) }
        try await server.waitUntilFaults(count: 1)
        clock.move(by: .seconds(59))
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        try await server.waitUntilAllClosed()
        #expect(server.bytesWritten == 0)
    }
}
