import CurlEngine
import Foundation
import Testing
import TrellisTesting

@testable import Trellis

/// Slots come back, whoever they were meant for.
@Suite(.timeLimit(.minutes(1)))
struct SlotTests {
    private let transport = ScriptedTransport()

    private func session(perOrigin: Int) -> Session {
        var configuration = SessionConfiguration()
        configuration.limits.perOrigin = perOrigin
        configuration.timeouts = Timeouts(connect: nil, total: nil)
        return Session(configuration: configuration, transport: transport)
    }

    /// Each that is cancelled makes room for one that is cancelled next.
    @Test func cancellingEverybodyAtOnceLosesNoSlot() async throws {
        let session = session(perOrigin: 2)
        for round in 1...5 {
            let handles = (0..<8).map { _ in session.request("http://slots.example/") }
            for handle in handles { handle.resume() }
            while transport.attempts.count < 2 * round { await Task.yield() }
            // In one call, so that no slot is heard of between two of them.
            session.engine.submit { for handle in handles { handle.cancel() } }
            await session.settle()
        }
        let answers = (0..<2).map { _ in Task { try await session.data("http://slots.example/").1.status.code } }
        while transport.attempts.count < 12 { await Task.yield() }
        for attempt in transport.attempts.suffix(2) {
            attempt.connect()
            attempt.receiveHead(status: 204)
            attempt.end()
        }
        for answer in answers { #expect(try await answer.value == 204) }
        await session.shutdown()
    }

    /// Those behind the first request to an origin go on with its head, where its transport never says that it is connected.
    @Test func aHeadTellsThatThereIsAConnection() async throws {
        let session = session(perOrigin: 4)
        let first = Task { try await session.data("https://slots.example/1").1.status.code }
        let attempt = try await transport.nextAttempt()
        let second = Task { try await session.data("https://slots.example/2").1.status.code }
        attempt.receiveHead(status: 200)
        let other = try await transport.nextAttempt()
        for each in [other, attempt] {
            if each === other { each.receiveHead(status: 200) }
            each.end()
        }
        #expect(try await [first.value, second.value] == [200, 200])
        await session.shutdown()
    }
}
