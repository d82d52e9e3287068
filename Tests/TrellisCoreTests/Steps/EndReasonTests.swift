import CurlEngine
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCore

/// The error that a step sees when its call ends while the step is at work.
@Suite(.timeLimit(.minutes(3)))
struct EndReasonTests {
    /// The way in which a step waits when its call ends.
    enum Wait: CaseIterable {
        /// For the response.
        case response
        /// For the response of a call that a policy retries.
        case retriedResponse
        /// For the wait before a retry.
        case backoff
        /// On the session's clock.
        case clock
        /// For something that knows the task alone.
        case task
    }

    /// The way in which the call ends.
    enum End: CaseIterable {
        case deadline, shutdown, task
    }

    /// An application step that keeps the error it sees.
    private final class Witness: RequestStep {
        let wait: Wait
        let begun = LoopbackServer.Gate()
        private let seen = Locked<(any Error)?>(nil)
        private let reason = Locked<TrellisError?>(nil)

        var error: (any Error)? { seen.withLock { $0 } }
        var endReason: TrellisError? { reason.withLock { $0 } }

        init(_ wait: Wait) { self.wait = wait }

        func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
            #expect(context.endReason == nil)
            do {
                switch wait {
                case .response, .retriedResponse, .backoff: break
                case .clock:
                    begun.open()
                    try await context.wait(for: .seconds(3600))
                case .task:
                    begun.open()
                    try await LoopbackServer.Gate().opened()
                }
                return try await next(request)
            } catch {
                seen.withLock { $0 = error }
                reason.withLock { $0 = context.endReason }
                throw error
            }
        }
    }

    @Test(arguments: Wait.allCases, End.allCases)
    func aStepSeesTheReason(_ wait: Wait, _ end: End) async throws {
        // No wait begins that would end after the deadline.
        if wait == .backoff, end == .deadline { return }
        let (clock, witness) = (TestClock(), Witness(wait))
        let transport = MockTransport { _ in
            if wait == .backoff { return MockResponse(status: 503) }
            witness.begun.open()
            try await LoopbackServer.Gate().opened()
            return MockResponse()
        }
        var configuration = SessionConfiguration()
        configuration.timeouts.total = .seconds(50)
        configuration.steps.application = [witness]
        if wait == .retriedResponse { configuration.retry = RetryPolicy() }
        let retrier = Retrier { _, _ in
            witness.begun.open()
            return .retryWithDelay(.seconds(40))
        }
        if wait == .backoff { configuration.steps.retriers.append(retrier) }
        let session = Session(configuration: configuration, transport: transport, clock: clock)
        let call = Task { try await session.data("http://a.example/") }
        try await witness.begun.opened()
        await session.settle()
        switch end {
        case .deadline: clock.move(by: .seconds(50))
        case .shutdown: await session.shutdown()
        case .task: call.cancel()
        }
        await #expect(throws: (any Error).self) { try await call.value }
        let kind: TrellisError.Kind? =
            switch end {
            case .deadline: .totalTimeout
            case .shutdown: .cancelled
            case .task: nil
            }
        #expect(witness.endReason?.kind == kind)
        guard let kind, wait != .task else {
            #expect(witness.error is CancellationError)
            return
        }
        #expect((witness.error as? TrellisError)?.kind == kind, "\(String(describing: witness.error))")
        await session.shutdown()
    }
}
