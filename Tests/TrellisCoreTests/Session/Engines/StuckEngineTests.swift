import CurlEngine
import Dispatch
import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// Calls whose exchanges have moved to an engine that is stuck: they end at their deadlines, and when they are cancelled.
@Suite(.timeLimit(.minutes(3)))
struct StuckEngineTests {
    /// A network step that changes nothing. A call with such a step has an actor.
    private struct Passing: RequestStep {
        func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
            try await next(request)
        }
    }

    enum Kind: CaseIterable, Sendable { case steps, handle, stream }

    /// A session with two engines, whose second one has the only connection to the origin, and then is stuck.
    private struct World {
        let clock = TestClock()
        let transport: ScriptedTransport
        let session: Session
        let mayEnd = DispatchSemaphore(value: 0)
        /// Whether the engine is no longer stuck.
        let hasEnded = Locked(false)

        init() {
            var configuration = SessionConfiguration()
            configuration.engines = .fixed(2)
            configuration.limits.perOrigin = 1
            transport = ScriptedTransport(clock: clock)
            session = Session(configuration: configuration, transport: transport, clock: clock)
        }

        func call(_ kind: Kind?) async throws -> String {
            var request = Request("http://localhost/").withTimeouts(Timeouts(total: .seconds(500)))
            if kind == .steps || kind == .stream { request = request.withSteps { $0.network = [Passing()] } }
            switch kind {
            case nil, .steps: return "\(try await session.data(request).1.status.code)"
            case .handle: return "\(try await session.request(request).response(of: .data).status.code)"
            case .stream: return "\(try await session.stream(request).response.status.code)"
            }
        }

        /// Starts a call that moves to the second engine, and lets the engine be stuck.
        func start(_ kind: Kind?) async throws -> Task<Outcome, Never> {
            let first = Task(executorPreference: session.executors[1]) {
                try await session.data("http://localhost/first")
            }
            let attempt = try await transport.nextAttempt()
            let call = outcome { try await self.call(kind) }
            while await session.liveRequestCount < 2, !Task.isCancelled { await Task.yield() }
            attempt.respond()
            _ = try await first.value
            _ = try await transport.nextAttempt()
            let isHeld = LoopbackServer.Gate()
            session.engines.all[1].executor.submit {
                isHeld.open()
                mayEnd.waitForTest()
                hasEnded.withLock { $0 = true }
            }
            try await isHeld.opened()
            return call
        }

        /// Returns the outcome of a call, and whether the engine was stuck all the time.
        func end(_ call: Task<Outcome, Never>) async -> (Outcome, isStuck: Bool) {
            let isOver = LoopbackServer.Gate()
            let result = Task {
                defer { isOver.open() }
                return await call.value
            }
            while !isOver.isOpen, !Task.isCancelled {
                clock.move(by: .milliseconds(100))
                await Task.yield()
            }
            let isStuck = hasEnded.withLock { !$0 }
            mayEnd.signal()
            return (await result.value, isStuck)
        }
    }

    /// At the deadline it may not be known yet that the engine is stuck.
    @Test(arguments: [nil] + Kind.allCases, [true, false])
    func aCallEndsAtItsDeadline(_ kind: Kind?, _ isKnown: Bool) async throws {
        let world = World()
        let call = try await world.start(kind)
        while isKnown, !world.session.engines.all[1].executor.meter.isStuck, !Task.isCancelled { await Task.yield() }
        world.clock.move(by: .seconds(500))
        let (outcome, isStuck) = await world.end(call)
        #expect(outcome == .failed(.timedOut(.total)))
        #expect(isStuck)
        await world.session.shutdown()
    }

    @Test(arguments: [nil] + Kind.allCases, [true, false])
    func aCancelledCallEnds(_ kind: Kind?, _ isKnown: Bool) async throws {
        let world = World()
        let call = try await world.start(kind)
        while isKnown, !world.session.engines.all[1].executor.meter.isStuck, !Task.isCancelled { await Task.yield() }
        call.cancel()
        let (outcome, isStuck) = await world.end(call)
        #expect(outcome == .taskCancelled)
        #expect(isStuck)
        await world.session.shutdown()
    }
}
