import CurlEngine
import FoundationEssentials
import Testing
import TrellisTesting

@testable import Trellis

/// The place in the queue of a request that another exchange takes to another engine, and its end with the session.
@Suite(.timeLimit(.minutes(3)))
struct PlacedAnewOrderTests {
    private typealias Engines = SeveralEnginesTests

    /// The request has waited longer than the last one when its engine becomes stuck.
    @Test(arguments: [false, true])
    func aRequestThatIsPlacedOnAnotherEngineKeepsItsPlaceInTheQueue(_ isDirect: Bool) async throws {
        let gates = ["/first": LoopbackServer.Gate(), "/next": LoopbackServer.Gate()]
        let server = try Engines.server { gates[$0] }
        let session = Engines.session(.fixed(2), perOrigin: 1) {
            if isDirect { $0.steps.intercept(with: RetryPolicy(retryLimit: 1)) }
        }
        let first = Engines.onEngine(1, of: session) { _ = try await session.data(server.url("/first")) }
        try await server.waitUntilRequested(count: 1)
        let late = Task { _ = try await session.data(server.url("/late")) }
        await Engines.waitUntilLive(session, count: 2)
        #expect(await session.engines.first.actor.requestCount == 1)
        var others: [Task<Void, any Error>] = []
        for path in ["/next", "/last"] {
            others.append(Engines.onEngine(1, of: session) { _ = try await session.data(server.url(path)) })
            await Engines.waitUntilLive(session, count: 2 + others.count)
        }
        let blockade = DispatchedWait()
        // A test that fails ends too.
        session.engines.first.executor.submit { blockade.wait(atMost: 10) }
        while !session.engines.first.executor.meter.isStuck, !Task.isCancelled { await Task.yield() }
        gates["/first"]?.open()
        try await first.value
        try await server.waitUntilRequested(count: 2)
        // The second engine has the request too, which has entered the queue again.
        while await session.engines.all[1].actor.requestCount < 3, !Task.isCancelled { await Task.yield() }
        gates["/next"]?.open()
        for task in others + [late] { try await task.value }
        #expect(server.requests.map(\.path) == ["/first", "/next", "/late", "/last"])
        blockade.end()
        await session.shutdown()
    }

    /// The engine becomes stuck when the slot is on its way, and no other request waits.
    @Test(arguments: [false, true])
    func aRequestWhoseSlotComesToAnEngineThatIsStuckIsPlacedOnAnother(_ isDirect: Bool) async throws {
        let gate = LoopbackServer.Gate()
        let server = try Engines.server { $0 == "/first" ? gate : nil }
        let session = Engines.session(.fixed(2), perOrigin: 1) {
            if isDirect { $0.steps.intercept(with: RetryPolicy(retryLimit: 1)) }
        }
        let first = Engines.onEngine(1, of: session) { _ = try await session.data(server.url("/first")) }
        try await server.waitUntilRequested(count: 1)
        let late = Task { try await session.string(server.url("/late")) }
        await Engines.waitUntilLive(session, count: 2)
        #expect(await session.engines.first.actor.requestCount == 1)
        let (blockade, hasEnded) = (DispatchedWait(), Locked(false))
        session.engines.first.executor.submit {
            gate.open()
            // A test that fails ends too.
            blockade.wait(atMost: 10)
            hasEnded.withLock { $0 = true }
        }
        #expect(try await late.value == "hello")
        #expect(!hasEnded.withLock { $0 })
        #expect(session.engineStatistics.map(\.requestCount) == [0, 2])
        blockade.end()
        try await first.value
        // The shutdown waits until no request is counted.
        await session.shutdown(drainingFor: .seconds(5))
        #expect(server.requests.map(\.path) == ["/first", "/late"])
    }

    /// The task of the request creates the other exchange a moment after the first one was given up. The drain may have begun since, or be
    /// over: then the request is refused.
    @Test(arguments: [false, true])
    func aRequestThatIsPlacedOnAnotherEngineIsRefusedOnlyAfterTheDrain(_ isOver: Bool) async throws {
        let server = try LoopbackServer.http { _ in .text("hello") }
        let session = Engines.session(.fixed(2))
        let prepared = try session.preparation.prepare(
            Request(server.url()), delivery: .memory, start: session.clock.now(), callID: 1)
        let exchange = session.makeExchange(prepared)
        if isOver { session.life.endDrain() } else { session.life.beginDrain() }
        if isOver {
            let error = await #expect(throws: TrellisError.self) { _ = try await exchange.replaced().collected() }
            #expect(error?.reason == .cancelled(.sessionShutDown))
            #expect(error?.mayHaveSentBytes == false)
        } else {
            let data = try await exchange.replaced().collected().0
            #expect(data == Data("hello".utf8))
        }
        #expect(server.requests.count == (isOver ? 0 : 1))
        await session.shutdown()
    }
}
