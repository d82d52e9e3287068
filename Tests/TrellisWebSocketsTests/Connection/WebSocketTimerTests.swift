import Testing

@testable import TrellisCore
@testable import TrellisTesting
@testable import TrellisWebSockets

/// An open connection has one timer for its pings, which its end takes away.
@Suite(.timeLimit(.minutes(3)))
struct WebSocketTimerTests {
    @Test func theEndOfTheConnectionTakesItsTimerAway() async throws {
        let mock = await MockSocket()
        await mock.waitForTimers(1)
        mock.wire.end()
        let failure = await webSocketFailure { _ = try await mock.socket.receive() }
        #expect(failure != nil)
        await mock.waitForTimers(0)
        await mock.shutDown()
    }

    @Test func aConnectionWithoutPingsHasNoTimer() async throws {
        let mock = await MockSocket(WebSocketOptions(pingInterval: nil))
        await mock.settle()
        #expect(await mock.timerCount == 0)
        mock.wire.end()
        _ = await webSocketFailure { _ = try await mock.socket.receive() }
        await mock.shutDown()
    }
}
