import CurlEngine
import Testing
import TrellisTesting

@testable import TrellisCore

/// Calls beside others that wait: a test clock must not move while one of them is about to continue.
@Suite(.timeLimit(.minutes(3)))
struct QuietCallTests {
    private let clock = TestClock()
    private let session: Session

    init() { session = Session(transport: ScriptedTransport(), clock: clock) }

    private func makeCall() -> Call {
        let clock = clock.engineSide
        return Call(
            Request("http://localhost/"), delivery: .memory, start: clock.now(), limit: nil, engine: session.engine,
            clock: clock,
            sender: session)
    }

    /// Returns whether the session is at rest, beside a task that waits for the clock.
    private func isQuiet(_ calls: Call..., sleepers: [any AnyObject & Sendable] = []) -> Bool {
        let sleepers = (calls: Set(sleepers.map { ObjectIdentifier($0) }), hasOthers: true)
        return session.engines.countsIfQuiet(of: session, calls, sleepers: sleepers) { _ in false } != nil
    }

    /// The turns of a limiter come with the clock, for which it waits unless it is about to give a turn.
    @Test func aCallWaitsForItsTurnWhileTheLimiterSleeps() {
        let (limiter, call) = (RateLimiter(RateLimit(requestsPerSecond: 1)), makeCall())
        let start = call.beginning
        call.record.withLock { $0.wait = .rate(limiter, host: "localhost", ticket: 1, since: start) }
        #expect(isQuiet(call, sleepers: [limiter]))
        #expect(!isQuiet(call))
    }

    /// A shared response is about to come if its call has not begun, or has ended.
    @Test func aCallWaitsForASharedResponseWhileItsCallIsUnderWay() {
        let (shared, call) = (makeCall(), makeCall())
        let start = call.beginning
        call.record.withLock { $0.wait = .sharedAnswer(since: start, of: shared.id) }
        #expect(isQuiet(shared, call, sleepers: [shared]))
        #expect(!isQuiet(call))
        shared.record.withLock { $0.isDecided = true }
        #expect(!isQuiet(shared, call))
    }

    /// The mark of a wait ends with the wait, and not only when the task of the call runs.
    @Test(arguments: [true, false]) func aCallThatARefreshLetsGoDoesNotWait(_ isCancelled: Bool) async throws {
        let (queue, call) = (RefreshQueue(), makeCall())
        let ticket = queue.newTicket()
        let wait = Task { try await queue.wait(with: ticket, for: call) }
        while !call.record.withLock({ $0.awaitsRefresh }), !Task.isCancelled { await Task.yield() }
        #expect(isQuiet(call))
        if isCancelled { wait.cancel() } else { queue.end(with: .success(())).letGo() }
        #expect(!isQuiet(call))
        _ = await wait.result
    }
}
