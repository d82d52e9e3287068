import CurlEngine
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCore

/// Sessions with a rate limit.
@Suite(.timeLimit(.minutes(3)))
struct RateLimitStepTests {
    /// A session whose requests are answered at once.
    struct World {
        let clock = TestClock()
        let limiter: RateLimiter
        let transport: MockTransport
        let session: Session

        init(
            _ limit: RateLimit, status: Int = 200, _ change: (inout SessionConfiguration) -> Void = { _ in }
        ) {
            limiter = RateLimiter(limit)
            var configuration = SessionConfiguration()
            configuration.steps.rateLimiters = [limiter]
            change(&configuration)
            transport = MockTransport { _ in MockResponse(status: status) }
            session = Session(configuration: configuration, transport: transport, clock: clock)
        }

        /// Sends a request that has to wait behind `count` others.
        func park(
            _ request: Request = Request("http://a.example/"), behind count: Int = 0
        ) async -> Task<Response, any Error> {
            let task = Task { [session] in try await session.data(request).1 }
            await settle(waiting: count + 1)
            return task
        }

        func settle(waiting count: Int) async {
            while limiter.waitingCount(host: "a.example") != count, !Task.isCancelled { await Task.yield() }
            await session.settle()
        }
    }

    @Test func requestsGoOutAtTheRateAndTheWaitIsCountedAsQueueing() async throws {
        let world = World(RateLimit(requestsPerSecond: 1, burst: 2))
        for _ in 0..<2 {
            #expect(try await world.session.data("http://a.example/").1.metrics.queued == .zero)
        }
        let third = await world.park()
        // Another host has a bucket of its own.
        _ = try await world.session.data("http://b.example/")
        #expect(world.transport.startedCount == 3)
        world.clock.move(by: .seconds(1))
        let metrics = try await third.value.metrics
        #expect(metrics.queued == .seconds(1))
        #expect(metrics.attemptCount == 1)
    }

    @Test func theSugarMakesALimiter() async throws {
        var steps = Steps()
        #expect(steps.isEmpty)
        steps.limit(rate: RateLimit(requestsPerSecond: 10, burst: 5))
        #expect(steps.rateLimiters.map(\.limit) == [RateLimit(requestsPerSecond: 10, burst: 5)])
        #expect(!steps.isEmpty)
    }

    @Test func retriesAndRedirectsWaitTheirTurnToo() async throws {
        let world = World(RateLimit(requestsPerSecond: 1), status: 503)
        let request = Request("http://a.example/").withRetrier(
            Retrier { _, context in context.attempt == 1 ? .retry : .doNotRetry })
        let answer = await world.park(request)
        #expect(world.transport.startedCount == 1)
        world.clock.move(by: .seconds(1))
        let metrics = try await answer.value.metrics
        #expect(metrics.attemptCount == 2)
        #expect(metrics.queued == .seconds(1))
    }

    @Test func aTurnBehindTheDeadlineFailsAtOnce() async throws {
        let world = World(RateLimit(requestsPerSecond: 0.5))
        _ = try await world.session.data("http://a.example/")
        var request = Request("http://a.example/?key=secret", method: .put)
        request.timeouts = Timeouts(total: .seconds(2))
        let late = request
        let error = await #expect(throws: TrellisError.self) { try await world.session.data(late) }
        #expect(error?.kind == .rateLimited)
        #expect(error?.method == .put)
        #expect(error?.url?.hasPrefix("http://a.example/?key=") == true)
        #expect(error?.url?.contains("secret") == false)
        #expect(error?.mayHaveSentBytes == false)
        #expect(world.transport.startedCount == 1)
        #expect(
            error?.description.hasSuffix(
                "the rate limit of a.example would hold the request up for 2.0 s, which is more than 2.0 s: "
                    + "its deadline comes first") == true)
    }

    @Test func whoIsOvertakenUntilTheDeadlineIsToldWhatItWaitedFor() async throws {
        let world = World(RateLimit(requestsPerSecond: 1))
        _ = try await world.session.data("http://a.example/")
        var patient = Request("http://a.example/").withPriority(.low)
        patient.timeouts = Timeouts(total: .milliseconds(1500))
        let low = await world.park(patient)
        let high = await world.park(Request("http://a.example/").withPriority(.high), behind: 1)
        let higher = await world.park(Request("http://a.example/").withPriority(.high), behind: 2)
        world.clock.move(by: .seconds(1))
        _ = try await high.value
        world.clock.move(by: .milliseconds(500))
        let error = await #expect(throws: TrellisError.self) { try await low.value }
        #expect(error?.kind == .totalTimeout)
        #expect(error?.phase == .queued)
        #expect(error?.metrics.queued == .milliseconds(1500))
        #expect(
            error?.description
                == "GET http://a.example/: timed out (total) after 1.5 s waiting for its turn: "
                + "the rate limit of a.example has 1 other request ahead of it")
        world.clock.move(by: .milliseconds(500))
        _ = try await higher.value
    }

    @Test func whoIsCancelledGivesItsPlaceToTheNext() async throws {
        let world = World(RateLimit(requestsPerSecond: 1))
        _ = try await world.session.data("http://a.example/")
        let tasks = [await world.park(), await world.park(behind: 1)]
        tasks[0].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[0].value }
        await world.settle(waiting: 1)
        world.clock.move(by: .seconds(1))
        #expect(try await tasks[1].value.metrics.queued == .seconds(1))
    }

    @Test func aHandleThatIsCancelledAndASessionThatEndsLeaveNobodyWaiting() async throws {
        let world = World(RateLimit(requestsPerSecond: 1))
        _ = try await world.session.data("http://a.example/")
        let handle = world.session.request("http://a.example/")
        handle.resume()
        await world.settle(waiting: 1)
        handle.cancel()
        await world.settle(waiting: 0)
        let parked = await world.park()
        await world.session.shutdown()
        let error = await #expect(throws: TrellisError.self) { try await parked.value }
        #expect(error?.kind == .cancelled)
        #expect(world.limiter.waitingCount(host: "a.example") == 0)
    }

    @Test func sessionsWithTheSameLimiterKeepToItTogether() async throws {
        let world = World(RateLimit(requestsPerSecond: 1))
        var configuration = SessionConfiguration()
        configuration.steps.rateLimiters = [world.limiter]
        let other = Session(configuration: configuration, transport: world.transport, clock: world.clock)
        _ = try await other.data("http://a.example/")
        let parked = await world.park()
        #expect(world.transport.startedCount == 1)
        world.clock.move(by: .seconds(1))
        _ = try await parked.value
    }

    @Test func aRequestsLimiterHoldsBesideTheSessions() async throws {
        let world = World(RateLimit(requestsPerSecond: 1000, burst: 1000))
        let searches = RateLimiter(RateLimit(requestsPerSecond: 1))
        let request = Request("http://a.example/").withSteps { $0.rateLimiters.append(searches) }
        _ = try await world.session.data(request)
        let second = Task { try await world.session.data(request).1 }
        while searches.waitingCount(host: "a.example") != 1, !Task.isCancelled { await Task.yield() }
        _ = try await world.session.data("http://a.example/")
        world.clock.move(by: .seconds(1))
        #expect(try await second.value.metrics.queued == .seconds(1))
    }

    @Test(arguments: [true, false])
    func whoIsCancelledBeforeItGoesOutGivesItsTurnBack(_ hasGoneOut: Bool) async throws {
        let clock = TestClock()
        let limiter = RateLimiter(RateLimit(requestsPerSecond: 0.001, burst: 2))
        var configuration = SessionConfiguration()
        configuration.steps.rateLimiters = [limiter]
        configuration.timeouts = Timeouts(connect: nil, responseHead: nil, idle: nil, total: nil)
        configuration.limits.perOrigin = hasGoneOut ? 2 : 1
        let transport = ScriptedTransport(clock: clock)
        let session = Session(configuration: configuration, transport: transport, clock: clock)
        var events = session.requestEvents.makeAsyncIterator()
        let first = Task { try await session.data("http://a.example/1").1 }
        let attempt = try await transport.nextAttempt()
        let second = Task { try await session.data("http://a.example/2").1 }
        while let event = await events.next() {
            if case .queued(let request) = event.kind, request.url.hasSuffix("2") { break }
        }
        attempt.connect()
        attempt.receiveHead(status: 200)
        if hasGoneOut { _ = try await transport.nextAttempt() }
        let third = Task { try await session.data("http://a.example/3").1 }
        while limiter.waitingCount(host: "a.example") != 1, !Task.isCancelled { await Task.yield() }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        if hasGoneOut {
            await session.settle()
            #expect(limiter.waitingCount(host: "a.example") == 1)
            clock.move(by: .seconds(1000))
        }
        while limiter.waitingCount(host: "a.example") != 0, !Task.isCancelled { await Task.yield() }
        attempt.end()
        _ = try await first.value
        try await transport.nextAttempt().respond(status: 200)
        _ = try await third.value
    }

    @Test func whoIsRefusedByAnotherLimitGivesItsTurnBack() async throws {
        let shared = RateLimiter(RateLimit(requestsPerSecond: 0.001, burst: 1))
        let world = World(RateLimit(requestsPerSecond: 1000, burst: 1000)) { $0.timeouts.total = nil }
        let strict = RateLimiter(RateLimit(requestsPerSecond: 0.001, burst: 1, maximumWait: .zero))
        try await strict.enter(host: "a.example", .test(clock: world.clock))
        let refused = Request("http://a.example/").withSteps { $0.rateLimiters = [shared, strict] }
        let error = await #expect(throws: TrellisError.self) { try await world.session.data(refused) }
        #expect(error?.kind == .rateLimited)
        _ = try await world.session.data(Request("http://a.example/").withSteps { $0.rateLimiters = [shared] })
        #expect(world.transport.startedCount == 1)
    }

    @Test func theWaitIsAnEvent() async throws {
        let world = World(RateLimit(requestsPerSecond: 1))
        _ = try await world.session.data("http://a.example/")
        let events = world.session.requestEvents
        let parked = await world.park()
        world.clock.move(by: .seconds(1))
        _ = try await parked.value
        var words: [String] = []
        for await event in events {
            words.append(event.word)
            if event.word == "finished 200" { break }
        }
        #expect(words.prefix(3) == ["created", "rate limited a.example 1.0 seconds", "queued"])
    }
}
