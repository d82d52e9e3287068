import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing
import TrellisTesting

@testable import Trellis

/// Transports that report events before `start` has returned.
@Suite(.timeLimit(.minutes(1)))
struct EarlyEventsTests {
    /// A transport whose attempts run a closure within `start`.
    private final class EarlyTransport: Transport {
        final class Attempt: TransportTask {
            let isCancelled = Locked(false)

            func cancel() { isCancelled.withLock { $0 = true } }
            func pauseReceiving(_ isPaused: Bool) {}
            func suspend(_ isSuspended: Bool) {}
            func send(_ chunk: Data) {}
            func finishSending() {}
        }

        let attempts = Locked<[Attempt]>([])
        private let respond: @Sendable (Int, any TransportEvents) -> Void

        init(_ respond: @escaping @Sendable (Int, any TransportEvents) -> Void) { self.respond = respond }

        func start(_ request: TransportRequest, events: any TransportEvents) -> any TransportTask {
            let attempt = Attempt()
            let number = attempts.withLock { attempts in
                attempts.append(attempt)
                return attempts.count
            }
            respond(number, events)
            return attempt
        }
    }

    @Test func anAttemptThatFailsWithinItsStartIsCancelled() async throws {
        let transport = EarlyTransport { _, events in
            events.transportDidReceiveHead(ResponseHead(status: .ok))
            [UInt8](repeating: 0, count: 16).withBytes { events.transportDidReceiveBody($0) }
        }
        let session = Session(configuration: SessionConfiguration(), transport: transport, clock: TestClock())
        var request = Request("http://a.example/")
        request.maximumBodySize = .bytes(10)
        let sent = request
        #expect(
            await outcome { "\(try await session.data(sent).0.count)" }.value
                == .failed(.invalidResponse(.bodyTooLarge(limit: 10))))
        #expect(transport.attempts.withLock { $0 }.map { $0.isCancelled.withLock { $0 } } == [true])
    }

    @Test func aRestartWithinTheStartIsTheAttemptThatIsCancelled() async throws {
        let transport = EarlyTransport { number, events in
            guard number == 1 else { return }
            var failure = TransportFailure(.exchangeFailed(.connectionLost))
            failure.isUnprocessed = true
            events.transportDidEnd(TransportEnd(failure: failure))
        }
        let session = Session(configuration: SessionConfiguration(), transport: transport, clock: TestClock())
        let task = outcome { "\(try await session.data("http://a.example/").1.status.code)" }
        while transport.attempts.withLock({ $0.count }) < 2 { await session.settle() }
        task.cancel()
        #expect(await task.value == .taskCancelled)
        await session.settle()
        #expect(transport.attempts.withLock { $0 }.map { $0.isCancelled.withLock { $0 } } == [false, true])
    }
}
