import CurlEngine
import Testing
import Trellis

@testable import TrellisTesting

/// The test clock waits for the calls of its sessions, so that it moves neither too early nor in vain.
@Suite(.timeLimit(.minutes(3)))
struct TestClockSessionTests {
    /// Responds with 503 and `Retry-After: 2`, and then with a text.
    private static let busyThenDone: @Sendable (Int) -> MockResponse = { number in
        number % 2 == 1 ? MockResponse(status: 503, headers: [.retryAfter: "2"]) : .text("done")
    }

    private static func session(_ transport: any Transport, _ clock: TestClock) -> Session {
        var configuration = SessionConfiguration()
        configuration.steps.intercept(with: RetryPolicy(exponentialBackoffScale: .zero))
        return Session(configuration: configuration, transport: transport, clock: clock)
    }

    /// A retrier runs on the pool: the clock must not move before the pause has begun, or the pause would never end.
    @Test func aPauseThatTheServerAsksForEndsWhenTheClockIsMoved() async throws {
        let clock = TestClock()
        let busy = MockResponse(status: 503, headers: ["Retry-After": "2"])
        let transport = MockTransport(responses: [busy, .text("done")])
        let session = Self.session(transport, clock)
        let call = Task { try await session.string("http://example.com/") }
        try await transport.waitUntilRequested(count: 1)
        await clock.advance(by: .seconds(2))
        #expect(try await call.value == "done")
    }

    @Test(arguments: 1...20) func theSameIsTrueOfEveryRun(_ run: Int) async throws {
        let clock = TestClock()
        let count = Locked(0)
        let transport = MockTransport { _ in
            for _ in 0..<run { await Task.yield() }
            return Self.busyThenDone(
                count.withLock { count in
                    count += 1
                    return count
                })
        }
        let session = Self.session(transport, clock)
        let call = Task { try await session.string("http://example.com/") }
        try await transport.waitUntilRequested(count: 1)
        await clock.advance(by: .seconds(2))
        #expect(try await call.value == "done")
        #expect(clock.now.elapsed == .seconds(2))
    }

    @Test func aSleeperIsAwaited() async throws {
        let clock = TestClock()
        let transport = MockTransport { _ in MockResponse(status: 503, headers: [.retryAfter: "2"]) }
        let session = Self.session(transport, clock)
        let calls = (1...3).map { number in Task { try await session.string("http://example.com/\(number)") } }
        for attempt in 1...2 {
            await clock.waitForSleepers(3)
            #expect(transport.requests.count == 3 * attempt)
            await clock.advance(by: .seconds(2))
        }
        #expect(transport.requests.count == 9)
        for call in calls {
            let error = await #expect(throws: TrellisError.self) { try await call.value }
            #expect(error?.response?.status == .serviceUnavailable)
        }
    }

    /// The move returns when its consequences have happened: the next attempt has its response, and its pause has begun.
    @Test func theConsequencesOfAMoveHaveHappened() async throws {
        let clock = TestClock()
        let transport = MockTransport { _ in MockResponse(status: 503, headers: [.retryAfter: "2"]) }
        let session = Self.session(transport, clock)
        let call = Task { try await session.string("http://example.com/") }
        try await transport.waitUntilRequested(count: 1)
        await clock.advance(by: .seconds(2))
        #expect(transport.requests.count == 2)
        await clock.advance(by: .seconds(2) - .nanoseconds(1))
        #expect(transport.requests.count == 2)
        await clock.advance(by: .nanoseconds(1))
        #expect(transport.requests.count == 3)
        call.cancel()
        _ = await call.result
    }

    /// A call whose turn has come is about to send its request, whatever another call waits for.
    @Test(arguments: 1...20) func aCallSendsItsRequestWhenItsTurnHasCome(_ run: Int) async throws {
        let clock = TestClock()
        let mayEnd = LoopbackServer.Gate()
        let transport = MockTransport { request in
            if request.url.hasSuffix("/held") { try await mayEnd.opened() }
            return .text("done")
        }
        var configuration = SessionConfiguration()
        configuration.steps.limit(rate: RateLimit(requestsPerSecond: 1, burst: 1))
        let session = Session(configuration: configuration, transport: transport, clock: clock)
        let held = Task { try await session.string("http://example.com/held") }
        try await transport.waitUntilRequested(count: 1)
        let call = Task { try await session.string("http://example.com/\(run)") }
        await clock.waitForSleepers()
        await clock.advance(by: .seconds(1))
        #expect(transport.requests.count == 2)
        mayEnd.open()
        #expect(try await call.value == "done")
        #expect(try await held.value == "done")
    }

    @Test func aPeerThatWaitsForTheClockIsAtRest() async throws {
        let clock = TestClock()
        let transport = MockTransport { _ in
            try await clock.sleep(for: .seconds(3))
            return .text("late")
        }
        let session = Session(transport: transport, clock: clock)
        let call = Task { try await session.string("http://example.com/") }
        await clock.waitForSleepers()
        await clock.advance(by: .seconds(3))
        #expect(try await call.value == "late")
    }

    @Test func aCancelledWaitReturns() async {
        let clock = TestClock()
        let wait = Task { await clock.waitForSleepers(2) }
        wait.cancel()
        await wait.value
    }

    /// A clock that is not the kit's.
    private struct ForeignClock: Clock {
        let base: TestClock
        var now: TestClock.Instant { base.now }
        var minimumResolution: Duration { base.minimumResolution }

        func sleep(until deadline: TestClock.Instant, tolerance: Duration?) async throws {
            try await base.sleep(until: deadline, tolerance: tolerance)
        }
    }

    @Test func anyClockDrivesASession() async throws {
        let base = TestClock()
        let transport = ScriptedTransport()
        let session = Session(transport: transport, clock: ForeignClock(base: base))
        let call = Task {
            try await session.string("http://example.com/", timeouts: Timeouts(total: .seconds(5)))
        }
        _ = try await transport.nextAttempt()
        await base.waitForSleepers()
        base.move(by: .seconds(5))
        let error = await #expect(throws: TrellisError.self) { try await call.value }
        #expect(error?.isTimeout == true)
    }

    /// A peer that finds its condition met does not rest, not even while it looks.
    @Test func aPeerThatNeedNotWaitIsAtWork() async throws {
        let call = UInt64.max - 1
        let (isMet, wasAtWork) = (LoopbackServer.Waiters(true), Locked(false))
        let work = ClockWork.beginning(of: call) {
            try? await isMet.wait { isMet in
                wasAtWork.withLock { $0 = ClockWork.isAtRest(for: call) == false }
                return isMet
            }
        }
        await work()
        #expect(wasAtWork.withLock { $0 })
        #expect(ClockWork.isAtRest(for: call) == nil)
    }

    /// A peer with several tasks that wait is one peer that rests: another peer of the same call is at work all the same.
    @Test func aPeerRestsOnceHoweverManyOfItsTasksWait() async throws {
        let call = UInt64.max
        let other = ClockWork.beginning(of: call) {}
        let waiting = ClockWork.beginning(of: call) {
            let peer = ClockWork.current
            for _ in 1...2 { peer?.pause() }
            #expect(ClockWork.isAtRest(for: call) == false)
            await other()
            #expect(ClockWork.isAtRest(for: call) == true)
            peer?.resume()
            #expect(ClockWork.isAtRest(for: call) == true)
            peer?.resume()
            #expect(ClockWork.isAtRest(for: call) == false)
        }
        await waiting()
        #expect(ClockWork.isAtRest(for: call) == nil)
    }
}
