import FoundationEssentials
import Testing

@testable import TrellisCore
@testable import TrellisTesting
@testable import TrellisWebSockets

/// The pings that are sent by themselves take no memory for a server that takes no bytes.
@Suite(.timeLimit(.minutes(3)))
struct WebSocketKeepAliveTests {
    @Test func aServerThatTakesNothingIsSentOnePing() async throws {
        let mock = await MockSocket(WebSocketOptions(pongTimeout: nil))
        mock.wire.setFull(true)
        for _ in 1...3 {
            await mock.waitForTimers(1)
            mock.clock.move(by: .seconds(20))
            await mock.settle()
        }
        await mock.waitForTimers(1)
        #expect(mock.wire.frames.map(\.first) == [0x89] && mock.wire.state.value.waitingWriters == 1)
        mock.wire.setFull(false)
        // Once there is room, pings are sent again. The timer of a ping is set after the ping before was sent.
        while mock.wire.frames.count < 2, !Task.isCancelled {
            mock.clock.move(by: .seconds(20))
            await mock.settle()
            await mock.waitForTimers(1)
        }
        #expect(mock.wire.frames.map(\.first) == [0x89, 0x89])
        await mock.shutDown()
    }
}
