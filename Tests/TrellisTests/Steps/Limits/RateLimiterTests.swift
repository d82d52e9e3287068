import CurlEngine
import Testing
import TrellisTesting

@testable import Trellis

/// Requests that wait for their host.
struct RateLimiterTests {
    let clock = TestClock()

    func limiter(_ rate: Double, burst: Int = 1, maximumWait: Duration? = nil) -> RateLimiter {
        let clock = clock
        return RateLimiter(
            RateLimit(requestsPerSecond: rate, burst: burst, maximumWait: maximumWait), clock: clock.engineSide
        ) { try await clock.pause(for: $0) }
    }

    /// Until so many wait.
    func settle(_ limiter: RateLimiter, waiting count: Int) async {
        while limiter.waitingCount(host: "a.example") != count { await Task.yield() }
    }

    @Test func theyGoOneByOneInTheOrderOfTheirComing() async throws {
        let limiter = limiter(1)
        let order = Locked<[Int]>([])
        try await limiter.enter(host: "a.example")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<5 {
                group.addTask {
                    try await limiter.enter(host: "a.example")
                    order.withLock { $0.append(number) }
                }
                await settle(limiter, waiting: number + 1)
            }
            for number in 0..<5 {
                clock.advance(by: .seconds(1))
                await settle(limiter, waiting: 4 - number)
                try await group.next()
            }
        }
        #expect(order.withLock { $0 } == [0, 1, 2, 3, 4])
    }

    @Test func hostsDoNotWaitForEachOther() async throws {
        let limiter = limiter(1)
        for host in ["a.example", "b.example", "c.example"] { try await limiter.enter(host: host) }
    }

    @Test func aCancelledTaskStopsWaiting() async throws {
        let limiter = limiter(1)
        try await limiter.enter(host: "a.example")
        let tasks = (0..<2).map { _ in Task { try await limiter.enter(host: "a.example") } }
        await settle(limiter, waiting: 2)
        tasks[0].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[0].value }
        await settle(limiter, waiting: 1)
        clock.advance(by: .seconds(1))
        try await tasks[1].value
    }

    @Test func aTaskThatIsCancelledAlreadyDoesNotWait() async throws {
        let limiter = limiter(1)
        try await limiter.enter(host: "a.example")
        await #expect(throws: CancellationError.self) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.cancelAll()
                group.addTask { try await limiter.enter(host: "a.example") }
                try await group.waitForAll()
            }
        }
        #expect(limiter.waitingCount(host: "a.example") == 0)
    }

    @Test func whoWouldWaitTooLongIsToldSo() async throws {
        let limiter = limiter(0.5, maximumWait: .milliseconds(1500))
        try await limiter.enter(host: "a.example")
        let error = await #expect(throws: TrellisError.self) { try await limiter.enter(host: "a.example") }
        #expect(error?.kind == .rateLimited)
        #expect(
            error?.description
                == "the rate limit of a.example would hold the request up for 2.0 s, which is more than 1.5 s")
    }

    @Test func aClockThatEndsLetsEverybodyGo() async throws {
        let limiter = RateLimiter(RateLimit(requestsPerSecond: 1), clock: clock.engineSide) { _ in
            throw CancellationError()
        }
        try await limiter.enter(host: "a.example")
        await #expect(throws: CancellationError.self) { try await limiter.enter(host: "a.example") }
    }

    @Test func aThousandAreLetGoAtOnce() async throws {
        let limiter = limiter(1, burst: 1)
        try await limiter.enter(host: "a.example")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<1000 { group.addTask { try await limiter.enter(host: "a.example") } }
            await settle(limiter, waiting: 1000)
            clock.advance(by: .seconds(1000))
            try await group.waitForAll()
        }
        #expect(limiter.waitingCount(host: "a.example") == 0)
    }
}
