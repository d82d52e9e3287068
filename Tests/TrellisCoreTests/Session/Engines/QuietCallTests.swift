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

    /// Returns whether the session is at rest.
    ///
    /// - Parameters:
    ///   - sleepers: What waits for the clock.
    ///   - works: Whether the works for calls are at rest, by the numbers of the calls.
    private func isQuiet(
        _ calls: Call..., sleepers: [any AnyObject & Sendable] = [], works: [UInt64: Bool] = [:]
    ) -> Bool {
        let waits = Dictionary(sleepers.map { (ObjectIdentifier($0), 1) }, uniquingKeysWith: +)
        return session.engines.countsIfQuiet(of: session, calls, waits: waits) { works[$0] } != nil
    }

    /// The turns of a limiter come with the clock, for which it waits unless it is about to give a turn.
    @Test func aCallWaitsForItsTurnWhileTheLimiterSleeps() {
        let (limiter, call) = (RateLimiter(RateLimit(requestsPerSecond: 1)), makeCall())
        let start = call.beginning
        call.record.withLock { $0.wait = .turn(limiter, host: "localhost", ticket: 1, since: start) }
        #expect(isQuiet(call, sleepers: [limiter]))
        #expect(!isQuiet(call))
    }

    /// The place of a call comes with the end of another one, and no clock brings it.
    @Test func aCallWaitsForAPlaceOfAnother() {
        let (limit, call) = (AdaptiveConcurrency(), makeCall())
        let start = call.beginning
        call.record.withLock { $0.wait = .turn(limit, host: "localhost", ticket: 1, since: start) }
        #expect(isQuiet(call))
        call.record.withLock { $0.wait = nil }
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
        while call.record.withLock({ $0.refreshes.isEmpty }), !Task.isCancelled { await Task.yield() }
        #expect(isQuiet(call, works: [queue.number: true]))
        #expect(!isQuiet(call, works: [queue.number: false]))
        #expect(!isQuiet(call))
        if isCancelled { wait.cancel() } else { queue.end(with: .success(())).letGo() }
        #expect(!isQuiet(call, works: [queue.number: true]))
        _ = await wait.result
    }

    /// A function that has returned is no work any more, and its call is about to continue.
    @Test func aCallWaitsForAFunctionThatRests() {
        let call = makeCall()
        call.record.withLock { $0.wait = .function(.proxySelection, since: call.beginning) }
        #expect(isQuiet(call, works: [call.id: true]))
        #expect(!isQuiet(call, works: [call.id: false]))
        #expect(!isQuiet(call))
    }

    /// The limit on a wait may let the call continue, and so may what it waits for.
    @Test func aCallWithALimitRestsWhileBothWait() async throws {
        let call = makeCall()
        let (context, mayEnd) = (CallContext(call), LoopbackServer.Gate())
        let wait = Task {
            try await context.result(within: .seconds(1)) {
                context.noteWaitForSharedAnswer(begins: true)
                try await mayEnd.opened()
            }
        }
        while call.record.withLock({ $0.wait == nil }), !Task.isCancelled { await Task.yield() }
        #expect(isQuiet(call, sleepers: [call]))
        #expect(!isQuiet(call))
        context.noteWaitForSharedAnswer(begins: false)
        #expect(!isQuiet(call, sleepers: [call]))
        mayEnd.open()
        #expect(try await wait.value != nil)
        #expect(call.record.withLock { $0.waitsAtRest } == 1)
    }
}
