#if Service
import ServiceLifecycle
import Testing
import TrellisCore
import TrellisService
import TrellisTesting

/// The order in which the services of a group end, and what a session does in it.
@Suite(.timeLimit(.minutes(3)))
struct ServiceOrderTests {
    /// A service that sends a last request with a session when it is told to end.
    private struct Front: Service {
        let session: Session
        let answers: AsyncStream<String>.Continuation

        func run() async throws {
            try await gracefulShutdown()
            do {
                answers.yield(try await session.string("http://localhost/last"))
            } catch {
                answers.yield("\(error)")
            }
            answers.finish()
        }
    }

    @Test func aServiceAfterTheSessionStillSendsRequests() async throws {
        let (answers, continuation) = AsyncStream.makeStream(of: String.self)
        let world = ServiceWorld(after: { [Front(session: $0, answers: continuation)] })
        let run = world.run()
        await world.group.triggerGracefulShutdown()
        #expect(await answers.reduce("", +) == "done")
        try await run.value
        #expect(world.session.health == .ended)
    }

    @Test func aServiceBeforeTheSessionIsRefused() async throws {
        let (answers, continuation) = AsyncStream.makeStream(of: String.self)
        let transport = MockTransport { _ in .text("done") }
        let session = Session(transport: transport)
        let group = ServiceGroup(
            services: [Front(session: session, answers: continuation), SessionService(session)], logger: .silent)
        let run = Task { try await group.run() }
        await group.triggerGracefulShutdown()
        #expect(
            await answers.reduce("", +)
                == "GET http://localhost/last: the session is shut down and accepts no new requests")
        try await run.value
        #expect(transport.startedCount == 0)
    }

    @Test func theSessionsOfAGroupDrainOneAfterTheOther() async throws {
        let first = Session(transport: MockTransport { _ in .text("first") })
        let world = ServiceWorld(before: [SessionService(first)])
        let run = world.run()
        let request = try await world.slowRequest()
        await world.drain()
        #expect(first.health == .running)
        #expect(try await first.string("http://localhost/") == "first")
        world.answers.open()
        #expect(try await request.value == "done")
        try await run.value
        #expect([first.health, world.session.health] == [.ended, .ended])
    }

    @Test func theFailureOfAnotherServiceEndsTheSession() async throws {
        struct Failure: Error {}
        struct Failing: Service {
            let mayFail: LoopbackServer.Gate
            func run() async throws {
                try await mayFail.opened()
                throw Failure()
            }
        }
        let mayFail = LoopbackServer.Gate()
        let world = ServiceWorld(after: { _ in [Failing(mayFail: mayFail)] })
        let run = world.run()
        let request = try await world.slowRequest()
        mayFail.open()
        await #expect(throws: Failure.self) { try await run.value }
        #expect(world.session.health == .ended)
        await #expect(throws: TrellisError.self) { try await request.value }
    }
}
#endif
