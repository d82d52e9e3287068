import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The state of a session, from its creation to its end.
@Suite(.timeLimit(.minutes(3)))
struct SessionHealthTests {
    @Test func aSessionRunsDrainsAndEnds() async throws {
        let scripted = Scripted()
        let session = scripted.session
        #expect(session.health == .running && session.health.acceptsRequests)
        let tasks = (0..<2).map { _ in outcome { try await session.string("http://localhost/") } }
        let attempts = [try await scripted.transport.nextAttempt(), try await scripted.transport.nextAttempt()]
        async let end: Void = session.shutdown(drainingFor: .seconds(10))
        await scripted.waitUntilRefusing()
        #expect(session.health == .draining(requests: 2) && !session.health.acceptsRequests)
        for (attempt, count) in zip(attempts, [1, 0]) {
            attempt.respond(status: 204)
            while session.health == .draining(requests: count + 1), !Task.isCancelled { await Task.yield() }
        }
        for task in tasks { #expect(await task.value == .answer("")) }
        await end
        #expect(session.health == .ended && !session.health.acceptsRequests)
    }

    @Test func aCallInsideAStepCountsAsARequest() async throws {
        let (gate, entered) = (LoopbackServer.Gate(), LoopbackServer.Gate())
        let scripted = Scripted {
            $0.steps.adapters.append(
                Adapter { request, _ in
                    entered.open()
                    try await gate.opened()
                    return request
                })
        }
        let session = scripted.session
        let task = outcome { try await session.string("http://localhost/") }
        try await entered.opened()
        async let end: Void = session.shutdown(drainingFor: .seconds(10))
        await scripted.waitUntilRefusing()
        #expect(session.health == .draining(requests: 1))
        gate.open()
        let attempt = try await scripted.transport.nextAttempt()
        #expect(session.health == .draining(requests: 1), "the call and its exchange are one request")
        attempt.respond(status: 204)
        #expect(await task.value == .answer(""))
        await end
        #expect(session.health == .ended)
    }

    @Test(
        arguments: [
            (.running, "running"), (.draining(requests: 0), "draining (0 requests)"),
            (.draining(requests: 1), "draining (1 request)"), (.ended, "ended"),
        ] as [(SessionHealth, String)])
    func theStateIsDescribed(_ health: SessionHealth, _ text: String) {
        #expect(health.description == text)
    }
}
