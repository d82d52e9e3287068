import CurlEngine
import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// Each time limit at its exact instant: one nanosecond earlier the request still runs.
@Suite(.timeLimit(.minutes(3)))
struct TimeLimitTests {
    let scripted = Scripted()
    static let limits = Timeouts(
        connect: .seconds(5), responseHead: .seconds(7), idle: .seconds(9), total: .seconds(100))

    private func start(_ timeouts: Timeouts = limits) async throws -> (
        Task<(Data, Response), any Error>, ScriptedAttempt
    ) {
        var request = Request("http://localhost/")
        request.timeouts = timeouts
        let task = Task { [request, session = scripted.session] in try await session.data(request) }
        return (task, try await scripted.transport.nextAttempt())
    }

    /// Checks that the request fails with this limit once the clock has advanced by exactly this duration, and not before.
    private func expect(
        _ timeout: TrellisError.Timeout, in duration: Duration, phase: TrellisError.Phase, elapsed: Duration,
        _ task: Task<(Data, Response), any Error>, _ attempt: ScriptedAttempt,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        await scripted.advance(by: duration - .nanoseconds(1))
        #expect(attempt.count(of: .cancel) == 0, "too early", sourceLocation: sourceLocation)
        await scripted.advance(by: .nanoseconds(1))
        #expect(attempt.count(of: .cancel) == 1, "too late", sourceLocation: sourceLocation)
        let error = await #expect(throws: TrellisError.self, sourceLocation: sourceLocation) { try await task.value }
        #expect(error?.reason == .timedOut(timeout), sourceLocation: sourceLocation)
        #expect(error?.phase == phase, sourceLocation: sourceLocation)
        #expect(error?.elapsed == elapsed, sourceLocation: sourceLocation)
        #expect(error?.attemptCount == 1, sourceLocation: sourceLocation)
        #expect(await scripted.liveCount == 0, sourceLocation: sourceLocation)
    }

    @Test func connecting() async throws {
        let (task, attempt) = try await start()
        await expect(.connect, in: .seconds(5), phase: .connecting, elapsed: .seconds(5), task, attempt)
    }

    @Test func theHeadCountsFromTheLastBytesSent() async throws {
        let (task, attempt) = try await start()
        await scripted.advance(by: .seconds(4))
        attempt.connect()
        await scripted.session.settle()
        await expect(.responseHead, in: .seconds(7), phase: .sending, elapsed: .seconds(11), task, attempt)
    }

    @Test func silenceInTheBody() async throws {
        let (task, attempt) = try await start()
        attempt.connect()
        attempt.receiveHead()
        await scripted.advance(by: .seconds(3))
        attempt.receiveBody("x")
        await scripted.session.settle()
        await expect(.idle, in: .seconds(9), phase: .receiving, elapsed: .seconds(12), task, attempt)
    }

    @Test func silenceWhileSending() async throws {
        let (task, attempt) = try await start(Timeouts(responseHead: nil, idle: .seconds(9), total: nil))
        attempt.connect()
        await scripted.session.settle()
        await expect(.idle, in: .seconds(9), phase: .sending, elapsed: .seconds(9), task, attempt)
    }

    @Test(arguments: [TrellisError.Phase.connecting, .sending, .receiving])
    func theTotalIsOverInEveryPhase(_ phase: TrellisError.Phase) async throws {
        let (task, attempt) = try await start(
            Timeouts(connect: nil, responseHead: nil, idle: nil, total: .seconds(100)))
        if phase != .connecting { attempt.connect() }
        if phase == .receiving { attempt.receiveHead() }
        await scripted.session.settle()
        await expect(.total, in: .seconds(100), phase: phase, elapsed: .seconds(100), task, attempt)
    }

    @Test func theTotalCountsQueueing() async throws {
        let scripted = Scripted.narrow
        let (blocker, _) = try await scripted.block()
        var request = Request("http://localhost/waiting")
        request.timeouts = Timeouts(total: .seconds(10))
        let task = Task { [request] in try await scripted.session.data(request) }
        await scripted.waitUntilLive(count: 2)
        await scripted.advance(by: .seconds(4))
        blocker.cancel()
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        attempt.receiveHead()
        await scripted.advance(by: .seconds(6) - .nanoseconds(1))
        #expect(attempt.count(of: .cancel) == 0)
        await scripted.advance(by: .nanoseconds(1))
        let error = await #expect(throws: TrellisError.self) { try await task.value }
        #expect(error?.reason == .timedOut(.total))
        #expect(error?.elapsed == .seconds(10))
        #expect(error?.metrics.queued == .seconds(4))
    }

    @Test func theTotalEndsARequestThatStillWaitsAndSaysForWhat() async throws {
        let scripted = Scripted.narrow
        let (blocker, _) = try await scripted.block()
        var request = Request("http://localhost/waiting")
        request.timeouts = Timeouts(total: .seconds(10))
        let task = Task { [request] in try await scripted.session.data(request) }
        await scripted.waitUntilLive(count: 2)
        // The blocker's own connect limit is over by then; only the queue delays the second request.
        await scripted.advance(by: .seconds(9))
        await scripted.advance(by: .seconds(1))
        let error = await #expect(throws: TrellisError.self) { try await task.value }
        #expect(error?.kind == .totalTimeout)
        #expect(error?.phase == .queued)
        #expect(error?.attemptCount == 0)
        #expect(error?.mayHaveSentBytes == false)
        #expect(error?.description.contains("all 1 connections") == true)
        blocker.cancel()
    }

    @Test func aDripDoesNotOutliveTheTotal() async throws {
        let (task, attempt) = try await start()
        attempt.connect()
        attempt.receiveHead()
        for _ in 0..<99 {
            await scripted.advance(by: .seconds(1))
            attempt.receiveBody("x")
        }
        await expect(.total, in: .seconds(1), phase: .receiving, elapsed: .seconds(100), task, attempt)
    }

    @Test func noLimitIsNoLimit() async throws {
        let (task, attempt) = try await start(Timeouts(connect: nil, responseHead: nil, idle: nil, total: nil))
        await scripted.advance(by: .seconds(1_000_000))
        attempt.connect()
        await scripted.advance(by: .seconds(1_000_000))
        attempt.receiveHead()
        await scripted.advance(by: .seconds(1_000_000))
        attempt.end()
        let (_, response) = try await task.value
        #expect(response.metrics.total == .seconds(3_000_000))
    }

    @Test func aSessionThatWasMadeLongBeforeItsFirstRequestGivesItAllItsTime() async throws {
        scripted.clock.move(by: .seconds(3600))
        let (task, attempt) = try await start()
        await expect(.connect, in: .seconds(5), phase: .connecting, elapsed: .seconds(5), task, attempt)
    }

    @Test func aRequestAfterALongPauseHasAllItsTime() async throws {
        let (first, firstAttempt) = try await start()
        firstAttempt.respond(status: 204)
        _ = try await first.value
        await scripted.advance(by: .seconds(3600))
        let (task, attempt) = try await start()
        await expect(.connect, in: .seconds(5), phase: .connecting, elapsed: .seconds(5), task, attempt)
    }

    @Test func anAnswerInTimeLeavesNoTimerBehind() async throws {
        let (task, attempt) = try await start()
        attempt.respond()
        _ = try await task.value
        let engine = scripted.session.engine
        let timers = await withContinuation { continuation in
            engine.submit { continuation.resume(returning: engine.engineLoop.timerCount) }
        }
        #expect(timers == 0)
    }
}
