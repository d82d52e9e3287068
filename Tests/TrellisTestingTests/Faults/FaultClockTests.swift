import CurlEngine
import Testing
import Trellis
@_spi(Transport) import TrellisCore

@testable import TrellisTesting

/// A test clock knows whether a transport with faults is at work.
@Suite(.timeLimit(.minutes(3)))
struct FaultClockTests {
    /// A transport that asks, at each head, whether the peer of the call is at work.
    private final class AskingTransport: Transport {
        private let transport: any Transport
        let call = Locked<UInt64?>(nil)
        let wasAtWork = Locked<[Bool]>([])

        init(_ transport: any Transport) { self.transport = transport }

        func start(_ request: TransportRequest, events: any TransportEvents) -> any TransportTask {
            call.withLock { $0 = request.callNumber }
            return transport.start(request, events: Events(request.callNumber, events, self))
        }
    }

    private final class Events: TransportEvents {
        private let call: UInt64
        private let events: any TransportEvents
        private let transport: AskingTransport

        init(_ call: UInt64, _ events: any TransportEvents, _ transport: AskingTransport) {
            (self.call, self.events, self.transport) = (call, events, transport)
        }

        func transportIsConnected() { events.transportIsConnected() }
        func transportDidReceiveInformational(_ head: ResponseHead) { events.transportDidReceiveInformational(head) }
        func transportDidReceiveHead(_ head: ResponseHead) {
            transport.wasAtWork.withLock { $0.append(ClockWork.isAtRest(for: call) == false) }
            events.transportDidReceiveHead(head)
        }
        func transportDidReceiveBody(_ bytes: RawSpan) { events.transportDidReceiveBody(bytes) }
        func transportNeedsBody() { events.transportNeedsBody() }
        func transportDidEnd(_ end: TransportEnd) { events.transportDidEnd(end) }
    }

    /// The attempt rests while it waits for the other transport, and works while it passes on what has come.
    @Test func anAttemptThatPassesOnAnEventIsAtWork() async throws {
        let clock = TestClock()
        let scripted = ScriptedTransport()
        let faults = FaultTransport(wrapping: scripted, faults: [.always(.latency(.zero, .end))], clock: clock)
        let transport = AskingTransport(faults)
        let session = Session(transport: transport, clock: clock)
        let call = Task { try await session.string("http://server.test/") }
        let attempt = try await scripted.nextAttempt()
        let number = try #require(transport.call.withLock { $0 })
        while ClockWork.isAtRest(for: number) == false, !Task.isCancelled { await Task.yield() }
        attempt.respond("done")
        #expect(try await call.value == "done")
        #expect(transport.wasAtWork.withLock { $0 } == [true])
    }

    /// The response of the other transport may have ended before the attempt has passed on any of it.
    @Test(arguments: 1...20) func aPauseThatTheServerAsksForEndsWhenTheClockIsMoved(_ run: Int) async throws {
        let clock = TestClock()
        let mock = MockTransport(responses: [MockResponse(status: 503, headers: [.retryAfter: "2"]), .text("done")])
        let transport = FaultTransport(wrapping: mock, faults: [.always(.latency(.zero, .end))], clock: clock)
        var configuration = SessionConfiguration()
        configuration.steps.intercept(with: RetryPolicy(exponentialBackoffScale: .zero))
        let session = Session(configuration: configuration, transport: transport, clock: clock)
        let call = Task { try await session.string("http://server.test/\(run)") }
        try await mock.waitUntilRequested(count: 1)
        await clock.advance(by: .seconds(2))
        #expect(try await call.value == "done")
    }
}
