import CurlEngine
import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The cancellation of many requests at once: the engines stay responsive, and no waiting request starts.
@Suite(.timeLimit(.minutes(3)))
struct CancelAllTests {
    /// A network step that changes nothing. A call with such a step has an actor.
    private struct Passing: RequestStep {
        func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
            try await next(request)
        }
    }

    private struct World {
        let scripted: Scripted
        let tasks: [Task<Outcome, Never>]

        /// Starts requests, half of which have a slot.
        init(_ count: Int, hasSteps: Bool, _ engines: EngineCount = .one) async {
            let scripted = Scripted {
                $0.engines = engines
                $0.limits = ConnectionLimits(total: count / 2, perOrigin: count / 2)
                if hasSteps { $0.steps.network = [Passing()] }
            }
            tasks = (0..<count).map { _ in
                outcome { "\(try await scripted.session.data("http://localhost/").1.status.code)" }
            }
            // Every call has its exchange: one that has none yet would still be in its steps.
            let running = scripted.session.engines.all
            while running.reduce(0, { $0 + $1.site.list.all.count }) < count, !Task.isCancelled { await Task.yield() }
            while scripted.transport.attempts.count < count / 2, !Task.isCancelled { await Task.yield() }
            self.scripted = scripted
        }

        func end() async {
            for task in tasks { #expect(await task.value == .failed(.cancelled(.explicitly))) }
            await scripted.session.shutdown()
        }
    }

    @Test(arguments: [false, true], [EngineCount.one, .fixed(2)])
    func noWaitingRequestStarts(_ hasSteps: Bool, _ engines: EngineCount) async {
        let world = await World(600, hasSteps: hasSteps, engines)
        let session = world.scripted.session
        await session.cancelAllRequests()
        #expect(await session.liveRequests.isEmpty)
        #expect(await session.liveRequestCount == 0)
        #expect(world.scripted.transport.attempts.count == 300)
        #expect(session.engineStatistics.reduce(0) { $0 + $1.requestCount } == 300)
        await world.end()
    }

    @Test(arguments: [false, true])
    func otherWorkRunsBetweenTheBatches(_ hasSteps: Bool) async {
        let world = await World(600, hasSteps: hasSteps)
        let session = world.scripted.session
        let live = await withContinuation { continuation in
            session.actor.submit { actor in
                session.engine.submit { continuation.resume(returning: session.actor.list.all.count) }
                actor.cancelAll(TrellisError(.cancelled(.explicitly)))
            }
        }
        #expect(live == 600 - 256)
        await session.cancelAllRequests()
        await world.end()
    }

    /// A slot becomes free before the engine of the next request has cancelled it.
    @Test(arguments: [EngineCount.one, .fixed(2)])
    func aSlotIsNotUsedByARequestThatIsAboutToEnd(_ engines: EngineCount) async throws {
        let world = await World(2, hasSteps: false, engines)
        let (session, transport) = (world.scripted.session, world.scripted.transport)
        let attempt = try await transport.nextAttempt()
        for engine in session.engines.all { engine.site.list.keepFromStarting() }
        attempt.end()
        for engine in session.engines.all + session.engines.all { await engine.settle() }
        #expect(transport.attempts.count == 1)
        await session.cancelAllRequests()
        for task in world.tasks { _ = await task.value }
        await session.shutdown()
    }
}
