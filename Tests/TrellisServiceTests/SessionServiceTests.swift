#if Service
import ServiceLifecycle
import Testing
import TrellisCore
import TrellisService
import TrellisTesting

/// A session as a service: its drain, and its end.
@Suite(.timeLimit(.minutes(3)))
struct SessionServiceTests {
    @Test func aRequestInFlightEndsDuringTheDrain() async throws {
        let world = ServiceWorld()
        let run = world.run()
        let request = try await world.slowRequest()
        #expect(world.service.health == .running)
        await world.drain()
        world.answers.open()
        #expect(try await request.value == "done")
        try await run.value
        #expect(world.service.health == .ended)
        #expect(world.transport.cancelledCount == 0)
    }

    @Test func aNewRequestIsRefusedDuringTheDrain() async throws {
        let world = ServiceWorld()
        let run = world.run()
        let request = try await world.slowRequest()
        await world.drain()
        let error = await #expect(throws: TrellisError.self) {
            try await world.session.data("http://localhost/late")
        }
        #expect(
            error?.description
                == "GET http://localhost/late: the session is shut down and accepts no new requests")
        #expect(error?.kind == .cancelled)
        #expect(error?.mayHaveSentBytes == false)
        #expect(world.service.health == .draining(requests: 1))
        world.answers.open()
        #expect(try await request.value == "done")
        try await run.value
        #expect(world.transport.startedCount == 1)
    }

    @Test func aRequestIsCancelledAtTheEndOfTheGrace() async throws {
        let world = ServiceWorld(grace: .seconds(10))
        let run = world.run()
        let request = try await world.slowRequest()
        await world.drain()
        world.clock.move(by: .seconds(10) - .nanoseconds(1))
        await world.session.settle()
        #expect(world.service.health == .draining(requests: 1))
        world.clock.move(by: .nanoseconds(1))
        let error = await #expect(throws: TrellisError.self) { try await request.value }
        #expect(error?.reason == .cancelled(.sessionShutDown))
        #expect(error?.description == "GET http://localhost/slow: the session was shut down")
        #expect(error?.mayHaveSentBytes == true)
        try await run.value
        #expect(world.service.health == .ended)
        // The engine's thread cancels the attempt.
        while world.transport.cancelledCount == 0, !Task.isCancelled { await Task.yield() }
        #expect(world.transport.cancelledCount == 1)
    }

    @Test func anIdleSessionEndsAtOnce() async throws {
        let world = ServiceWorld()
        let run = world.run()
        await world.group.triggerGracefulShutdown()
        // The clock stands still: nothing waits for the grace.
        try await run.value
        #expect(world.service.health == .ended)
        await #expect(throws: TrellisError.self) { try await world.session.data("http://localhost/") }
    }

    @Test func aCancellationEndsRequestsAtOnce() async throws {
        let world = ServiceWorld()
        let run = world.run()
        let request = try await world.slowRequest()
        run.cancel()
        let error = await #expect(throws: TrellisError.self) { try await request.value }
        #expect(error?.reason == .cancelled(.sessionShutDown))
        try await run.value
        #expect(world.service.health == .ended)
    }

    @Test func aCancellationEndsTheDrain() async throws {
        let world = ServiceWorld()
        let run = world.run()
        let request = try await world.slowRequest()
        await world.drain()
        run.cancel()
        let error = await #expect(throws: TrellisError.self) { try await request.value }
        #expect(error?.reason == .cancelled(.sessionShutDown))
        try await run.value
        #expect(world.service.health == .ended)
    }

    @Test func aServiceOutsideOfAGroupEndsWithItsTask() async {
        let service = SessionService(Session(transport: MockTransport { _ in .text("done") }))
        let run = Task { await service.run() }
        #expect(service.health == .running)
        run.cancel()
        await run.value
        #expect(service.health == .ended)
    }

    @Test func theGraceIsHalfAMinuteByDefault() {
        #expect(SessionService(Session(transport: MockTransport { _ in .text("done") })).grace == .seconds(30))
    }
}
#endif
