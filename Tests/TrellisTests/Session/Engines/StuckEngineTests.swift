import CurlEngine
import Dispatch
import FoundationEssentials
import Testing
import TrellisTesting

@testable import Trellis

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
        /// Indicates whether the engine is no longer stuck.
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

    /// The other requests to the origin wait until the first connection shows whether it can be shared.
    @Test func requestsOfOtherEnginesDoNotWaitForAFirstConnectionOnAnEngineThatIsStuck() async throws {
        var configuration = SessionConfiguration()
        configuration.engines = .fixed(2)
        let transport = ScriptedTransport()
        let session = Session(configuration: configuration, transport: transport)
        let first = Task(executorPreference: session.executors[0]) {
            try await session.data("https://localhost/1").1.status.code
        }
        let attempt = try await transport.nextAttempt()
        let (mayEnd, hasEnded) = (DispatchSemaphore(value: 0), Locked(false))
        session.engines.all[0].executor.submit {
            mayEnd.waitForTest()
            hasEnded.withLock { $0 = true }
        }
        let second = Task(executorPreference: session.executors[1]) {
            try await session.data("https://localhost/2").1.status.code
        }
        let other = try await transport.nextAttempt()
        #expect(hasEnded.withLock { !$0 })
        for attempt in [other, attempt] {
            attempt.respond()
        }
        #expect(try await second.value == 200)
        mayEnd.signal()
        #expect(try await first.value == 200)
        await session.shutdown()
    }
}

/// The first connection to an origin, for which the other requests wait, on an engine that is stuck.
@Suite(.timeLimit(.minutes(3)))
struct StuckProbeTests {
    /// A session with several engines, whose threads can be blocked.
    private struct World {
        let transport = ScriptedTransport()
        let session: Session
        private let mayEnd = DispatchSemaphore(value: 0)
        private let hasEnded = Locked(false)

        init(_ engines: Int, perOrigin: Int = 64) {
            var configuration = SessionConfiguration()
            configuration.engines = .fixed(engines)
            configuration.limits.perOrigin = perOrigin
            session = Session(configuration: configuration, transport: transport)
        }

        /// Indicates whether no engine is free again that was blocked.
        var isBlocked: Bool { hasEnded.withLock { !$0 } }

        /// Blocks an engine until ``end(_:)``.
        func block(_ index: Int) async throws {
            let isHeld = LoopbackServer.Gate()
            session.engines.all[index].executor.submit { [mayEnd, hasEnded] in
                isHeld.open()
                mayEnd.waitForTest()
                hasEnded.withLock { $0 = true }
            }
            try await isHeld.opened()
        }

        func end(_ count: Int) { for _ in 0..<count { mayEnd.signal() } }

        func get(_ path: String) async throws -> Int {
            try await session.data("https://localhost\(path)").1.status.code
        }

        func start(_ path: String, on engine: Int) -> Task<Int, any Error> {
            Task(executorPreference: session.executors[engine]) { try await get(path) }
        }

        func waitUntilRequested(on engine: Int) async {
            while await session.engines.all[engine].actor.requestCount < 1, !Task.isCancelled { await Task.yield() }
        }

        /// Answers all attempts until the tasks have ended.
        func answer(_ tasks: [Task<Int, any Error>], after attempts: [ScriptedAttempt]) async throws {
            let answering = Task {
                for attempt in attempts { attempt.respond() }
                while !Task.isCancelled { try await transport.nextAttempt().respond() }
            }
            for task in tasks { #expect(try await task.value == 200) }
            answering.cancel()
            await session.shutdown()
        }
    }

    @Test(.enabled(if: LibcurlFeatures.current.canMultiplex, "requests do not wait for a first connection"))
    func aRequestDoesNotWaitForTwoEnginesThatAreStuck() async throws {
        let world = World(3)
        let first = world.start("/1", on: 0)
        let attempt = try await world.transport.nextAttempt()
        let second = world.start("/2", on: 1)
        await world.waitUntilRequested(on: 1)
        try await world.block(1)
        try await world.block(0)
        let third = world.start("/3", on: 2)
        let other = try await world.transport.nextAttempt()
        #expect(world.isBlocked)
        #expect(other.request.url == "https://localhost/3")
        world.end(2)
        try await world.answer([first, second, third], after: [other, attempt])
    }

    /// The engine with the only connection has just become stuck when the first request moves there.
    @Test func aRequestDoesNotWaitForAFirstConnectionThatIsAboutToMove() async throws {
        let world = World(2, perOrigin: 1)
        // The connection counts as open, and as one whose kind is not known.
        let failing = Task(executorPreference: world.session.executors[1]) { try await world.get("/failing") }
        try await world.transport.nextAttempt().fail(.other("no connection"))
        await #expect(throws: TrellisError.self) { try await failing.value }
        try await world.block(1)
        let both = Task(executorPreference: world.session.executors[0]) {
            async let first = world.get("/1")
            async let second = world.get("/2")
            return try await max(first, second)
        }
        let other = try await world.transport.nextAttempt()
        #expect(world.isBlocked)
        world.end(1)
        try await world.answer([both], after: [other])
    }
}
