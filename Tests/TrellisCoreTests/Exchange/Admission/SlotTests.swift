import CurlEngine
import Foundation
import Testing
import TrellisTesting

@testable import TrellisCore

/// The return of connection slots, also where the request of a slot is cancelled.
@Suite(.timeLimit(.minutes(3)))
struct SlotTests {
    private let transport = ScriptedTransport()

    private func session(perOrigin: Int) -> Session {
        var configuration = SessionConfiguration()
        configuration.limits.perOrigin = perOrigin
        configuration.timeouts = Timeouts(connect: nil, total: nil)
        return Session(configuration: configuration, transport: transport)
    }

    /// Each cancelled request frees a slot for a request that is cancelled next.
    @Test func cancellingEverybodyAtOnceLosesNoSlot() async throws {
        let session = session(perOrigin: 2)
        for round in 1...5 {
            let handles = (0..<8).map { _ in session.request("http://slots.example/") }
            for handle in handles { handle.resume() }
            while transport.attempts.count < 2 * round, !Task.isCancelled { await Task.yield() }
            // All cancellations run in one call, so that no slot is given between two of them.
            session.engine.submit { for handle in handles { handle.cancel() } }
            await session.settle()
        }
        let answers = (0..<2).map { _ in Task { try await session.data("http://slots.example/").1.status.code } }
        while transport.attempts.count < 12, !Task.isCancelled { await Task.yield() }
        for attempt in transport.attempts.suffix(2) {
            attempt.respond(status: 204)
        }
        for answer in answers { #expect(try await answer.value == 204) }
        await session.shutdown()
    }

    /// Requests behind the first one to an origin start with the first head, where the transport never reports a connection.
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
