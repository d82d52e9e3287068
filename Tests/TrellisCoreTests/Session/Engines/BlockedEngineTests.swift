import CurlEngine
import Dispatch
import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// Calls on the only engine of a session, whose thread is blocked: they end late, and as they should have ended.
@Suite(.timeLimit(.minutes(3)))
struct BlockedEngineTests {
    /// The ways to send a request.
    enum Kind: CaseIterable, Sendable { case plain, adapted, steps, stream }

    /// A session with one engine.
    private struct World {
        let clock = TestClock()
        let transport: ScriptedTransport
        let session: Session
        private let mayEnd = DispatchSemaphore(value: 0)
        /// Whether the engine is no longer blocked.
        let hasEnded = Locked(false)

        init() {
            var configuration = SessionConfiguration()
            configuration.engines = .one
            transport = ScriptedTransport(clock: clock)
            session = Session(configuration: configuration, transport: transport, clock: clock)
        }

        func call(_ kind: Kind) -> Task<Outcome, Never> {
            var request = Request("http://localhost/").withTimeouts(
                Timeouts(connect: .seconds(600), idle: .seconds(600), total: .seconds(500)))
            if kind == .adapted { request = request.withAdapter(Adapter { request, _ in request }) }
            if kind == .steps { request = request.withSteps { $0.network = [Passing()] } }
            return outcome { [request, session] in
                if kind == .stream { return "\(try await session.stream(request).response.status.code)" }
                return "\(try await session.data(request).1.status.code)"
            }
        }

        /// Begins a call, and blocks the engine after the request was sent, or before the call.
        func blockedCall(_ kind: Kind, _ isSent: Bool) async throws -> Task<Outcome, Never> {
            if !isSent { try await block() }
            let call = call(kind)
            if isSent {
                _ = try await transport.nextAttempt()
                try await block()
            }
            return call
        }

        /// Blocks the engine until ``end()``.
        ///
        /// - Parameter work: The work of the engine at the end of the blockade.
        func block(then work: @escaping @Sendable () -> Void = {}) async throws {
            let isHeld = LoopbackServer.Gate()
            session.engine.submit { [mayEnd, hasEnded] in
                isHeld.open()
                mayEnd.waitForTest()
                work()
                hasEnded.withLock { $0 = true }
            }
            try await isHeld.opened()
        }

        var isBlocked: Bool { hasEnded.withLock { !$0 } }

        func end() { mayEnd.signal() }

        /// The counts of the exchanges, if each has begun; `nil` otherwise.
        var exchangesAtRest: SessionEngines.ExchangeCounts? {
            session.engines.countsIfQuiet(of: session, [], waits: [:]) { _ in nil }
        }

        func waitUntilLive() async {
            while await session.liveRequests.isEmpty, !Task.isCancelled { await Task.yield() }
        }
    }

    private struct Passing: RequestStep {
        func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
            try await next(request)
        }
    }

    /// - Parameter isSent: Whether the request was sent before the engine is blocked.
    @Test(arguments: Kind.allCases, [true, false])
    func aCallEndsAtItsDeadline(_ kind: Kind, _ isSent: Bool) async throws {
        let world = World()
        let call = try await world.blockedCall(kind, isSent)
        await world.waitUntilLive()
        world.clock.move(by: .seconds(500))
        world.end()
        #expect(await call.value == .failed(.timedOut(.total)))
        await world.session.settle()
        #expect(await world.session.liveRequests.isEmpty)
        #expect(await world.session.liveRequestCount == 0)
        await world.session.shutdown()
    }

    @Test(arguments: Kind.allCases, [true, false])
    func aCancelledCallEnds(_ kind: Kind, _ isSent: Bool) async throws {
        let world = World()
        let call = try await world.blockedCall(kind, isSent)
        call.cancel()
        world.end()
        #expect(await call.value == .taskCancelled)
        await world.session.settle()
        #expect(await world.session.liveRequestCount == 0)
        if !isSent { #expect(world.transport.attempts.isEmpty) }
        await world.session.shutdown()
    }

    /// A test clock must not move while a call is about to begin.
    @Test(arguments: [Kind.plain, .steps])
    func aCallThatItsEngineHasNotBegunIsNotAtRest(_ kind: Kind) async throws {
        let world = World()
        let call = try await world.blockedCall(kind, false)
        let list = try #require(world.session.engines.all.first).site.list
        while list.all.isEmpty, !Task.isCancelled { await Task.yield() }
        #expect(world.exchangesAtRest == nil)
        world.end()
        _ = try await world.transport.nextAttempt()
        await world.session.settle()
        #expect(world.exchangesAtRest?.underWay == 1)
        call.cancel()
        #expect(await call.value == .taskCancelled)
        await world.session.shutdown()
    }

    /// An exchange may be where another one was in memory, and is not taken for that.
    @Test func anExchangeThatTakesThePlaceOfAnotherIsSeen() async throws {
        let world = World()
        var counts: [SessionEngines.ExchangeCounts?] = []
        for _ in 1...2 {
            let call = world.call(.plain)
            let attempt = try await world.transport.nextAttempt()
            await world.session.settle()
            counts.append(world.exchangesAtRest)
            attempt.respond()
            #expect(await call.value == .answer("200"))
        }
        #expect(counts.map { $0?.underWay } == [1, 1])
        #expect(counts.map { $0?.begun } == [1, 2])
        await world.session.shutdown()
    }

    @Test(arguments: Kind.allCases)
    func allRequestsAreListedAndCancelled(_ kind: Kind) async throws {
        let world = World()
        let call = world.call(kind)
        let attempt = try await world.transport.nextAttempt()
        try await world.block()
        #expect(await world.session.liveRequests.map(\.url) == ["http://localhost/"])
        let cancelling = Task { await world.session.cancelAllRequests() }
        world.end()
        try await attempt.wait(for: .cancel)
        #expect(await call.value == .failed(.cancelled(.explicitly)))
        await cancelling.value
        #expect(await world.session.liveRequests.isEmpty)
        await world.session.shutdown()
    }

    @Test func anAdapterThatWaitsIsCancelledAtOnce() async throws {
        let world = World()
        let begun = LoopbackServer.Gate(), hanging = LoopbackServer.Gate(), isCancelled = LoopbackServer.Gate()
        let adapter = Adapter { request, _ in
            begun.open()
            do { try await hanging.opened() } catch {
                isCancelled.open()
                throw error
            }
            return request
        }
        let request = Request("http://localhost/").withAdapter(adapter)
        let call = outcome { [session = world.session] in "\(try await session.data(request).1.status.code)" }
        try await begun.opened()
        try await world.block()
        call.cancel()
        try await isCancelled.opened()
        #expect(world.isBlocked)
        world.end()
        #expect(await call.value == .taskCancelled)
        await world.session.shutdown()
    }

    /// The response comes while the engine is blocked: nothing follows its redirect, and so the shutdown does not wait for that.
    @Test func aShutdownDoesNotWaitForTheRedirectOfACallThatHasEnded() async throws {
        let world = World()
        let call = world.call(.plain)
        let attempt = try await world.transport.nextAttempt()
        try await world.block {
            attempt.connect()
            attempt.receiveHead(status: 302, headers: [.location: "/next"])
            attempt.end()
        }
        call.cancel()
        world.end()
        #expect(await call.value == .taskCancelled)
        await world.session.shutdown(drainingFor: .seconds(60))
        #expect(world.transport.attempts.count == 1)
    }
}
