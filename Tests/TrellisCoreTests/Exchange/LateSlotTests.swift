import CurlEngine
import Dispatch
import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// Slots that come when their requests are already over: they are passed on, and the requests are not sent.
@Suite(.timeLimit(.minutes(3)))
struct LateSlotTests {
    private static func scripted(_ engines: EngineCount, perOrigin: Int = 1) -> Scripted {
        Scripted {
            $0.engines = engines
            $0.limits = ConnectionLimits(total: perOrigin, perOrigin: perOrigin)
        }
    }

    /// Starts a request on one engine, which waits for its slot, with a limit of five seconds.
    private static func waiting(
        on engine: Int, _ scripted: Scripted, count: Int
    ) async -> Task<TrellisError?, Never> {
        let session = scripted.session
        let task = Task(executorPreference: session.executors[engine]) { () -> TrellisError? in
            var request = Request("http://localhost/late", method: .post)
            request.timeouts = Timeouts(total: .seconds(5))
            do { _ = try await session.data(request) } catch { return error as? TrellisError }
            return nil
        }
        while await session.liveRequestCount < count, !Task.isCancelled { await Task.yield() }
        return task
    }

    private static func expectQueueTimeout(_ error: TrellisError?) {
        #expect(error?.reason == .timedOut(.total))
        #expect(error?.phase == .queued)
        #expect(error?.mayHaveSentBytes == false)
    }

    /// The deadlines of the requests come in the turn of the loop in which the slot is passed on.
    @Test func aSlotThatComesAtTheDeadlineIsPassedOn() async throws {
        let scripted = Self.scripted(.one)
        let (session, clock) = (scripted.session, scripted.clock)
        let (blocker, attempt) = try await scripted.block()
        let tasks = [
            await Self.waiting(on: 0, scripted, count: 2), await Self.waiting(on: 0, scripted, count: 3),
        ]
        let patient = outcome { "\(try await session.data("http://localhost/patient").1.status.code)" }
        await scripted.waitUntilLive(count: 4)
        session.engine.submit {
            // Runs directly before the slot is delivered, when the timers of the turn have fired.
            session.engine.submit { clock.move(by: .seconds(5)) }
            attempt.respond(status: 200)
        }
        for task in tasks { Self.expectQueueTimeout(await task.value) }
        #expect(await tasks[0].value?.detail == "its turn came only then")
        let next = try await scripted.transport.nextAttempt()
        try #require(next.request.url == "http://localhost/patient")
        next.respond(status: 204)
        #expect(await patient.value == .answer("204"))
        #expect(scripted.transport.attempts.count == 2)
        #expect(await blocker.state == .finished)
        await session.shutdown()
    }

    /// The deadline comes while the request moves to the engine that has the connection.
    @Test func aRequestThatMovesAtItsDeadlineIsNotSent() async throws {
        let scripted = Self.scripted(.fixed(2))
        let session = scripted.session
        let first = Task(executorPreference: session.executors[0]) { try await session.data("http://localhost/first") }
        let attempt = try await scripted.transport.nextAttempt()
        let task = await Self.waiting(on: 1, scripted, count: 2)
        let (hasEnded, mayContinue) = (LoopbackServer.Gate(), DispatchSemaphore(value: 0))
        session.engine.submit {
            attempt.respond(status: 200)
            hasEnded.open()
            mayContinue.waitForTest()
        }
        try await hasEnded.opened()
        await session.engines.all[1].settle()
        scripted.clock.move(by: .seconds(5))
        mayContinue.signal()
        Self.expectQueueTimeout(await task.value)
        _ = try await first.value
        await session.engines.first.settle()
        #expect(scripted.transport.attempts.count == 1)
        await session.shutdown()
    }
}
