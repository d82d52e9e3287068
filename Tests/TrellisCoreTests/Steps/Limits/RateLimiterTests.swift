import CurlEngine
import Testing
import TrellisTesting

@testable import TrellisCore

/// Requests that wait for their host's rate limit.
struct RateLimiterTests {
    let clock: TestClock
    let engine: EngineExecutor
    let context: CallContext

    init() {
        clock = TestClock()
        engine = EngineExecutor(clock: clock.engineSide)
        context = .test(clock: clock, engine: engine)
    }

    func limiter(_ rate: Double, burst: Int = 1, maximumWait: Duration? = nil) -> RateLimiter {
        RateLimiter(RateLimit(requestsPerSecond: rate, burst: burst, maximumWait: maximumWait))
    }

    /// Returns when this number of requests wait.
    func settle(_ limiter: RateLimiter, waiting count: Int) async {
        while limiter.waitingCount(host: "a.example") != count, !Task.isCancelled { await Task.yield() }
    }

    @Test func theyGoOneByOneInTheOrderOfTheirComing() async throws {
        let limiter = limiter(1)
        let order = Locked<[Int]>([])
        try await limiter.enter(host: "a.example", context)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<5 {
                group.addTask { [context] in
                    try await limiter.enter(host: "a.example", context)
                    order.withLock { $0.append(number) }
                }
                await settle(limiter, waiting: number + 1)
            }
            for number in 0..<5 {
                clock.move(by: .seconds(1))
                await settle(limiter, waiting: 4 - number)
                try await group.next()
            }
        }
        #expect(order.withLock { $0 } == [0, 1, 2, 3, 4])
    }

    @Test func thoseWhoseTurnsCameTogetherAreLetGoInTheirOrder() async throws {
        let limiter = limiter(1)
        let order = Locked<[Int]>([])
        try await limiter.enter(host: "a.example", context)
        var tasks: [Task<Void, any Error>] = []
        for number in 0..<50 {
            // All tasks run on one executor, so that they end in the order in which they were resumed.
            tasks.append(
                Task(executorPreference: engine) { [context] in
                    try await limiter.enter(host: "a.example", context)
                    order.withLock { $0.append(number) }
                })
            await settle(limiter, waiting: number + 1)
        }
        clock.move(by: .seconds(50))
        for task in tasks { try await task.value }
        #expect(order.withLock { $0 } == Array(0..<50))
    }

    @Test func aTurnThatIsGivenBackIsTheNextOnes() async throws {
        let limiter = limiter(0.001)
        let token = try await limiter.enter(host: "a.example", context)
        let tasks = (0..<2).map { _ in Task { [context] in try await limiter.enter(host: "a.example", context) } }
        await settle(limiter, waiting: 2)
        limiter.giveBack(token, host: "a.example", context)
        await settle(limiter, waiting: 1)
        // The turn of the other request has moved as well, and wakes it then.
        clock.move(by: .seconds(999))
        #expect(limiter.waitingCount(host: "a.example") == 1)
        clock.move(by: .seconds(1))
        for task in tasks { _ = try await task.value }
    }

    /// A session whose timers are on one engine.
    private final class Sender: RequestSender {
        let freeEngine: EngineExecutor

        init(_ freeEngine: EngineExecutor) { self.freeEngine = freeEngine }

        func answer(inFlight request: Request) async throws -> Answer { throw CancellationError() }

        func sharedCall(for request: Request, _ steps: AttachedSteps, depth: Int) -> SharedCall {
            SharedCall(id: 0) { throw CancellationError() }
        }
    }

    /// The engines of a session end together.
    @Test func theWaitersOnAllEnginesOfASessionEndWithIt() async throws {
        let limiter = limiter(0.001), sender = Sender(engine)
        try await limiter.enter(host: "a.example", context)
        let tasks = (0..<3).map { _ in
            let context = CallContext.test(clock: clock, sender: sender)
            return Task { try await limiter.enter(host: "a.example", context) }
        }
        await settle(limiter, waiting: 3)
        await engine.shutDown()
        for task in tasks {
            let error = await #expect(throws: TrellisError.self) { try await task.value }
            #expect(error?.kind == .cancelled)
        }
    }

    /// The further exchanges of a request, such as through the next proxy, are not delayed.
    @Test func aPermitIsWaitedForOnce() {
        let permit = LimitPermit(of: Request("http://a.example/"), breaker: nil, context)
        let start = context.now
        clock.move(by: .seconds(1))
        #expect(permit.takeStart() == start && permit.takeStart() == nil)
    }

    @Test func hostsDoNotWaitForEachOther() async throws {
        let limiter = limiter(1)
        for host in ["a.example", "b.example", "c.example"] { try await limiter.enter(host: host, context) }
    }

    @Test func aCancelledTaskStopsWaiting() async throws {
        let limiter = limiter(1)
        try await limiter.enter(host: "a.example", context)
        let tasks = (0..<2).map { _ in Task { [context] in try await limiter.enter(host: "a.example", context) } }
        await settle(limiter, waiting: 2)
        tasks[0].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[0].value }
        await settle(limiter, waiting: 1)
        clock.move(by: .seconds(1))
        _ = try await tasks[1].value
    }

    @Test func aTaskThatIsCancelledAlreadyDoesNotWait() async throws {
        let limiter = limiter(1)
        try await limiter.enter(host: "a.example", context)
        await #expect(throws: CancellationError.self) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.cancelAll()
                group.addTask { [context] in try await limiter.enter(host: "a.example", context) }
                try await group.waitForAll()
            }
        }
        #expect(limiter.waitingCount(host: "a.example") == 0)
    }

    @Test func whoWouldWaitTooLongIsToldSo() async throws {
        let limiter = limiter(0.5, maximumWait: .milliseconds(1500))
        try await limiter.enter(host: "a.example", context)
        let error = await #expect(throws: TrellisError.self) { _ = try await limiter.enter(host: "a.example", context) }
        #expect(error?.kind == .rateLimited)
        #expect(
            error?.description
                == "the rate limit of a.example would hold the request up for 2.0 s, which is more than 1.5 s")
    }

    @Test func anEngineThatEndsLetsThoseGoWhoWaitOnIt() async throws {
        let limiter = limiter(1)
        let other = CallContext.test(clock: clock)
        try await limiter.enter(host: "a.example", context)
        let here = Task { [context] in try await limiter.enter(host: "a.example", context) }
        await settle(limiter, waiting: 1)
        let there = Task { try await limiter.enter(host: "a.example", other) }
        await settle(limiter, waiting: 2)
        await engine.shutDown()
        let error = await #expect(throws: TrellisError.self) { _ = try await here.value }
        #expect(error?.reason == .cancelled(.sessionShutDown))
        clock.move(by: .seconds(1))
        _ = try await there.value
    }

    @Test func whoseTurnComesBehindTheDeadlineIsToldSo() async throws {
        let limiter = limiter(0.5)
        try await limiter.enter(host: "a.example", context)
        let hurried = CallContext.test(remaining: .seconds(2), clock: clock, engine: engine)
        let error = await #expect(throws: TrellisError.self) { _ = try await limiter.enter(host: "a.example", hurried) }
        #expect(error?.kind == .rateLimited)
        #expect(
            error?.description
                == "the rate limit of a.example would hold the request up for 2.0 s, which is more than 2.0 s: "
                + "its deadline comes first")
    }

    @Test func theHigherPriorityGoesFirst() async throws {
        let limiter = limiter(1)
        let order = Locked<[RequestPriority]>([])
        try await limiter.enter(host: "a.example", context)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (count, priority) in [RequestPriority.low, .normal, .high, .low, .high].enumerated() {
                group.addTask { [context] in
                    try await limiter.enter(host: "a.example", context, priority)
                    order.withLock { $0.append(priority) }
                }
                await settle(limiter, waiting: count + 1)
            }
            for left in (0..<5).reversed() {
                clock.move(by: .seconds(1))
                await settle(limiter, waiting: left)
                try await group.next()
            }
        }
        #expect(order.withLock { $0 } == [.high, .high, .normal, .low, .low])
    }

    @Test func aThousandAreLetGoAtOnce() async throws {
        let limiter = limiter(1, burst: 1)
        try await limiter.enter(host: "a.example", context)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<1000 { group.addTask { [context] in try await limiter.enter(host: "a.example", context) } }
            await settle(limiter, waiting: 1000)
            clock.move(by: .seconds(1000))
            try await group.waitForAll()
        }
        #expect(limiter.waitingCount(host: "a.example") == 0)
    }

    /// The limiter keeps no task for the next turn when all requests have left: at a slow host the turn may be hours away.
    @Test func noTaskWaitsForATurnWhenAllHaveLeft() async throws {
        let limiter = limiter(1.0 / 3600)
        try await limiter.enter(host: "a.example", context)
        let tasks = (0..<3).map { _ in
            Task { [context] in _ = try await limiter.enter(host: "a.example", context) }
        }
        await settle(limiter, waiting: 3)
        #expect(limiter.hasPump(host: "a.example"))
        for task in tasks {
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(!limiter.hasPump(host: "a.example"))
        // The limiter starts again for the next request.
        let last = Task { [context] in _ = try await limiter.enter(host: "a.example", context) }
        await settle(limiter, waiting: 1)
        clock.move(by: .seconds(3600))
        try await last.value
    }
}
