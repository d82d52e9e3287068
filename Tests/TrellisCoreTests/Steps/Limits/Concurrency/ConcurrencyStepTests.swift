import CurlEngine
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// Sessions with an adaptive concurrency limit.
@Suite(.timeLimit(.minutes(3)))
struct ConcurrencyStepTests {
    /// A session whose hosts have a limit that does not grow beyond its beginning.
    struct World {
        let limit: AdaptiveConcurrency
        let scripted: Scripted

        init(_ count: Int, _ change: (inout SessionConfiguration) -> Void = { _ in }) {
            let limit = AdaptiveConcurrency(maximum: count, initial: count)
            self.limit = limit
            scripted = Scripted {
                $0.steps.adaptiveConcurrency = limit
                change(&$0)
            }
        }

        var session: Session { scripted.session }
        /// The number of requests that have a place, and the number of those that wait for one.
        var counts: [Int] { limit.hosts.first.map { [$0.inFlight, $0.waiting] } ?? [] }

        /// Sends a request, and returns the attempt.
        func send(_ path: String = "") async throws -> (Task<Response, any Error>, ScriptedAttempt) {
            let task = Task { [session] in try await session.data("http://a.example/\(path)").1 }
            return (task, try await scripted.transport.nextAttempt())
        }

        /// Sends a request that has to wait for a place behind `count` others.
        func park(timeout: Duration? = nil, behind count: Int = 0) async -> Task<Response, any Error> {
            let task = Task { [session] in try await session.data("http://a.example/", timeout: timeout).1 }
            await settle(waiting: count + 1)
            return task
        }

        func settle(waiting count: Int) async {
            while limit.waitingCount(host: "a.example") != count, !Task.isCancelled { await Task.yield() }
            await session.settle()
        }
    }

    @Test func requestsOverTheLimitWaitAndTheWaitIsCountedAsQueueing() async throws {
        let world = World(1)
        let (first, attempt) = try await world.send()
        let second = await world.park()
        #expect(world.scripted.transport.attempts.count == 1)
        #expect(world.counts == [1, 1])
        await world.scripted.advance(by: .seconds(1))
        attempt.respond()
        _ = try await first.value
        try await world.scripted.transport.nextAttempt().respond()
        #expect(try await second.value.metrics.queued == .seconds(1))
        #expect(world.counts == [0, 0])
    }

    @Test func whoIsCancelledGivesItsPlaceInTheLineToTheNext() async throws {
        let world = World(1)
        let (first, attempt) = try await world.send()
        let tasks = [await world.park(), await world.park(behind: 1)]
        tasks[0].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[0].value }
        await world.settle(waiting: 1)
        attempt.respond()
        _ = try await first.value
        try await world.scripted.transport.nextAttempt().respond()
        _ = try await tasks[1].value
        #expect(world.counts == [0, 0])
    }

    /// A request that has its place may still wait for a connection.
    @Test func whoIsCancelledBeforeItGoesOutGivesItsPlaceBack() async throws {
        let world = World(2) { $0.limits.perOrigin = 1 }
        let (first, attempt) = try await world.send()
        let second = Task { try await world.session.data("http://a.example/2") }
        while world.counts != [2, 0], !Task.isCancelled { await Task.yield() }
        let third = await world.park()
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        await world.settle(waiting: 0)
        #expect(world.counts == [2, 0])
        attempt.respond()
        _ = try await first.value
        try await world.scripted.transport.nextAttempt().respond()
        _ = try await third.value
        #expect(world.counts == [0, 0])
    }

    @Test func theDeadlineEndsTheWaitAndSaysWhatItWasFor() async throws {
        let world = World(1)
        let (first, attempt) = try await world.send()
        let late = await world.park(timeout: .seconds(2))
        await world.scripted.advance(by: .seconds(2))
        let error = await #expect(throws: TrellisError.self) { try await late.value }
        #expect(error?.kind == .totalTimeout && error?.phase == .queued)
        #expect(error?.mayHaveSentBytes == false)
        #expect(error?.metrics.queued == .seconds(2))
        #expect(
            error?.description.hasSuffix(
                "the concurrency limit of a.example, which is 1, has 0 other requests ahead of it") == true)
        await world.settle(waiting: 0)
        attempt.respond()
        _ = try await first.value
        #expect(world.counts == [0, 0])
    }

    @Test func anAttemptThatFailsLeavesItsPlace() async throws {
        let world = World(1)
        let (first, attempt) = try await world.send()
        let second = await world.park()
        attempt.connect()
        attempt.fail(.exchangeFailed(.receive("reset")))
        await #expect(throws: TrellisError.self) { try await first.value }
        try await world.scripted.transport.nextAttempt().respond()
        _ = try await second.value
        #expect(world.counts == [0, 0])
    }

    /// A redirect leads to the same host, whose only place the first hop has had.
    @Test func eachHopHasAPlace() async throws {
        let world = World(1)
        let (task, attempt) = try await world.send("old")
        attempt.respond(status: 302, headers: [.location: "/new"])
        let next = try await world.scripted.transport.nextAttempt()
        #expect(world.counts == [1, 0])
        next.respond()
        #expect(try await task.value.redirects.count == 1)
        #expect(world.counts == [0, 0])
    }

    // MARK: Streams

    /// The place of a stream is free as soon as its exchange has ended: a clock of a test must not move before that.
    @Test func aStreamHasItsPlaceUntilItHasBeenRead() async throws {
        let world = World(2)
        let opening = Task { try await world.session.stream("http://a.example/stream") }
        let streaming = try await world.scripted.transport.nextAttempt()
        streaming.connect()
        streaming.receiveHead()
        let stream = try await opening.value
        let (second, attempt) = try await world.send()
        let third = await world.park()
        #expect(world.counts == [2, 1])
        streaming.receiveBody("x")
        streaming.end()
        #expect(try await stream.chunks.collect(upTo: 100).count == 1)
        await world.session.settle()
        #expect(world.counts == [2, 0])
        try await world.scripted.transport.nextAttempt().respond()
        attempt.respond()
        for task in [second, third] { _ = try await task.value }
        #expect(world.counts == [0, 0])
    }

    @Test func aStreamThatIsDroppedLeavesItsPlace() async throws {
        let world = World(1)
        let opening = Task { _ = try await world.session.stream("http://a.example/stream") }
        let streaming = try await world.scripted.transport.nextAttempt()
        streaming.connect()
        streaming.receiveHead()
        try await opening.value
        try await streaming.wait(for: .cancel)
        await world.session.settle()
        #expect(world.counts == [0, 0])
    }

    @Test func longStreamsHoldUpNoOtherRequestForEver() async throws {
        let world = World(1)
        let opening = Task { try await world.session.stream("http://a.example/stream") }
        let streaming = try await world.scripted.transport.nextAttempt()
        streaming.connect()
        // Until its head has come, the stream holds the only place.
        let second = await world.park()
        streaming.receiveHead()
        let stream = try await opening.value
        try await world.scripted.transport.nextAttempt().respond()
        _ = try await second.value
        #expect(world.counts == [1, 0])
        streaming.end()
        #expect(try await stream.chunks.collect(upTo: 100).isEmpty)
        await world.session.settle()
        #expect(world.counts == [0, 0])
    }

    // MARK: Pauses

    @Test func aHostThatAsksForAPauseGetsNothingUntilItsEnd() async throws {
        let world = World(2)
        let (first, attempt) = try await world.send()
        attempt.respond(status: 503, headers: [.retryAfter: "5"])
        _ = try await first.value
        let hurried = await #expect(throws: TrellisError.self) {
            try await world.session.data("http://a.example/", timeout: .seconds(2))
        }
        #expect(
            hurried?.reason == .limited(.paused(host: "a.example", wait: .seconds(5), remaining: .seconds(2))))
        #expect(world.counts == [0, 0])
        let second = await world.park()
        await world.scripted.clock.waitForSleepers()
        await world.scripted.advance(by: .seconds(4))
        #expect(world.counts == [0, 1])
        await world.scripted.advance(by: .seconds(1))
        try await world.scripted.transport.nextAttempt().respond()
        #expect(try await second.value.metrics.queued == .seconds(5))
    }

    // MARK: The end of a session

    @Test func aSessionThatDrainsLetsItsWaitersGoOn() async throws {
        let world = World(1)
        let (first, attempt) = try await world.send()
        let second = await world.park()
        let end = Task { await world.session.shutdown(drainingFor: .seconds(10)) }
        await world.scripted.waitUntilRefusing()
        attempt.respond()
        _ = try await first.value
        try await world.scripted.transport.nextAttempt().respond()
        _ = try await second.value
        await end.value
        #expect(world.counts == [0, 0])
    }

    /// The place that the waiters of a session wait for may be one of another session.
    @Test func aSessionThatEndsLeavesNobodyWaitingAtTheLimitOfAnother() async throws {
        let world = World(1), other = Scripted { [limit = world.limit] in $0.steps.adaptiveConcurrency = limit }
        let (first, attempt) = try await world.send()
        let parked = Task { try await other.session.data("http://a.example/") }
        await world.settle(waiting: 1)
        let second = await world.park(behind: 1)
        await other.session.shutdown()
        let error = await #expect(throws: TrellisError.self) { try await parked.value }
        #expect(error?.kind == .cancelled)
        await world.settle(waiting: 1)
        attempt.respond()
        _ = try await first.value
        try await world.scripted.transport.nextAttempt().respond()
        _ = try await second.value
        #expect(world.counts == [0, 0])
    }
}
