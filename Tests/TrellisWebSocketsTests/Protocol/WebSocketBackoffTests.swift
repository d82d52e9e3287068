import Testing

@testable import TrellisCore
@testable import TrellisWebSockets

/// The waits of a sequence of connections.
struct WebSocketBackoffTests {
    private static let rules = ReconnectionPolicy(initialDelay: .seconds(3), maximumBackoff: .seconds(60))

    @Test(arguments: [1000, 1001, 1005] as [UInt16])
    func afterAProperEndTheWaitIsTheFirstOne(_ code: UInt16) {
        var backoff = WebSocketBackoff(Self.rules)
        let delay = backoff.delay(after: WebSocketCloseCode(rawValue: code), hasMessages: false, random: 0.5)
        // The clients of a server that goes away (1001) do not all return at once.
        #expect(delay == .seconds(code == 1001 ? 4.5 : 3))
    }

    @Test(arguments: [1006, 1011, 1012, 4000] as [UInt16])
    func afterALostConnectionARandomPartIsAdded(_ code: UInt16) {
        var backoff = WebSocketBackoff(Self.rules)
        let code = WebSocketCloseCode(rawValue: code)
        #expect(backoff.delay(after: code, hasMessages: false, random: 0.5) == .seconds(4.5))
        // A server that accepts every connection and ends it at once is a failure too; one that has sent a message begins a new count.
        #expect(backoff.delay(after: code, hasMessages: false, random: 0.5) == .seconds(6))
        #expect(backoff.delay(after: code, hasMessages: true, random: 0.5) == .seconds(4.5))
    }

    @Test func theWaitsGrowWithTheFailuresInARow() {
        var backoff = WebSocketBackoff(Self.rules)
        let error = TrellisError(.connectionFailed(.unreachable("refused")))
        #expect(
            (0..<7).map { _ in backoff.delay(after: error, random: 1) }
                == [6, 9, 15, 27, 51, 63, 63].map { .seconds($0) })
        #expect(backoff.delay(after: .normalClosure, hasMessages: false, random: 1) == .seconds(3))
        #expect(backoff.delay(after: error, random: 1) == .seconds(6))
    }

    @Test func errorsThatNoConnectionCorrectsEndTheSequence() {
        var backoff = WebSocketBackoff(Self.rules)
        for reason in [
            .webSocketFailed(.handshake("no accept")), .validationFailed(.status(404)),
            .invalidRequest(.url("no host")),
        ] as [TrellisError.Reason] {
            #expect(backoff.delay(after: TrellisError(reason), random: 1) == nil)
        }
        // A handshake of TLS may fail while a server is replaced, and a total is the limit of one connection.
        for reason in [
            .validationFailed(.status(503)), .securityFailed(.handshake("x")), .timedOut(.total),
        ] as [TrellisError.Reason] {
            #expect(backoff.delay(after: TrellisError(reason), random: 1) != nil)
        }
    }

    @Test func theLastOfTheAllowedFailuresEndsTheSequence() {
        var backoff = WebSocketBackoff(ReconnectionPolicy(maximumFailures: 2))
        let error = TrellisError(.connectionFailed(.unreachable("refused")))
        #expect(backoff.delay(after: error, random: 1) != nil)
        #expect(backoff.delay(after: error, random: 1) == nil)
        backoff = WebSocketBackoff(ReconnectionPolicy(maximumFailures: 2))
        #expect(backoff.delay(after: error, random: 1) != nil)
        #expect(backoff.delay(after: .abnormalClosure, hasMessages: false, random: 1) == nil)
    }
}
