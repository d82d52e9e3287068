import TestSupport
import Testing

@testable import TrellisCore
@testable import TrellisTesting
@testable import TrellisWebSockets

/// An idle connection wakes the engine thread as rarely as its pings need it.
@Suite(.timeLimit(.minutes(3)))
struct WebSocketAlarmTests {
    /// The alarms of a second are counted before the clock is moved by that second.
    private func secondPasses(_ mock: MockSocket, _ alarms: inout Int) async throws {
        await mock.waitForTimers(1)
        if try #require(await mock.timeToNextTimer) <= .seconds(1) { alarms += 1 }
        mock.clock.move(by: .seconds(1))
        await mock.settle()
    }

    /// The default, another time for the answer, and no limit on it.
    @Test(arguments: [.seconds(20), .seconds(7), .seconds(100), nil] as [Duration?])
    func aPingThatIsAnsweredTakesOneAlarm(_ limit: Duration?) async throws {
        let mock = await MockSocket(
            limit == .seconds(20) ? WebSocketOptions() : WebSocketOptions(pongTimeout: limit))
        var alarms = 0
        for number in 1...5 {
            for _ in 0..<20 { try await secondPasses(mock, &alarms) }
            let ping = try await mock.wire.frames(number)[number - 1]
            #expect(mock.wire.frames.count == number && alarms == number)
            mock.wire.send(ServerFrame.pong(ping.payload))
            await mock.waitForPongs()
        }
        await mock.shutDown()
    }

    /// The alarm that was moved does not end the connection, and that of a later ping does.
    @Test func aMovedAlarmIsNotTheLast() async throws {
        let mock = await MockSocket(WebSocketOptions(pongTimeout: .seconds(7)))
        var alarms = 0
        for _ in 0..<20 { try await secondPasses(mock, &alarms) }
        let ping = try await mock.wire.frames(1)[0]
        for _ in 0..<6 { try await secondPasses(mock, &alarms) }
        mock.wire.send(ServerFrame.pong(ping.payload))
        await mock.waitForPongs()
        for _ in 0..<14 { try await secondPasses(mock, &alarms) }
        _ = try await mock.wire.frames(2)
        #expect(alarms == 2 && !mock.wire.state.value.isClosed)
        for _ in 0..<7 { try await secondPasses(mock, &alarms) }
        try await mock.wire.waitUntilClosed()
        #expect(alarms == 3 && mock.socket.closeCode == .abnormalClosure)
        await mock.shutDown()
    }
}
