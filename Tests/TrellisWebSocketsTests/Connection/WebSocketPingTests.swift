import FoundationEssentials
import Testing

@testable import TrellisCore
@testable import TrellisTesting
@testable import TrellisWebSockets

/// Pings of this side, on the framework's clock.
@Suite(.timeLimit(.minutes(3)))
struct WebSocketPingTests {
    @Test func aPingReturnsItsLatency() async throws {
        let mock = await MockSocket(WebSocketOptions(pingInterval: nil))
        #expect(mock.socket.latency == nil)
        async let latency = mock.socket.ping()
        let ping = try await mock.wire.frames(1)[0]
        #expect(ping.first == 0x89)
        mock.clock.move(by: .milliseconds(30))
        mock.wire.send(ServerFrame.pong([1, 2, 3]), ServerFrame.pong(ping.payload))
        #expect(try await latency == .milliseconds(30))
        #expect(mock.socket.latency == .milliseconds(30))
        await mock.shutDown()
    }

    @Test func anAnswerCompletesThePingsBeforeItToo() async throws {
        let mock = await MockSocket(WebSocketOptions(pingInterval: nil))
        let first = Task { try await mock.socket.ping() }
        _ = try await mock.wire.frames(1)
        mock.clock.move(by: .seconds(1))
        let second = Task { try await mock.socket.ping() }
        let pings = try await mock.wire.frames(2)
        mock.clock.move(by: .seconds(1))
        mock.wire.send(ServerFrame.pong(pings[1].payload))
        #expect(try await first.value == .seconds(2))
        #expect(try await second.value == .seconds(1))
        await mock.shutDown()
    }

    @Test func aCancelledPingEnds() async throws {
        let mock = await MockSocket()
        let ping = Task { try await mock.socket.ping() }
        _ = try await mock.wire.frames(1)
        ping.cancel()
        await #expect(throws: CancellationError.self) { try await ping.value }
        await mock.shutDown()
    }

    @Test func aSilentServerIsSentPings() async throws {
        let mock = await MockSocket()
        for number in 1...3 {
            await mock.waitForTimers(1)
            mock.clock.move(by: .seconds(20) - .nanoseconds(1))
            await mock.settle()
            #expect(mock.wire.frames.count == number - 1)
            mock.clock.move(by: .nanoseconds(1))
            let ping = try await mock.wire.frames(number)[number - 1]
            #expect(ping.first == 0x89)
            mock.wire.send(ServerFrame.pong(ping.payload))
            await mock.waitForPongs()
        }
        #expect(mock.socket.latency == .zero)
        await mock.shutDown()
    }

    @Test func bytesOfTheServerDelayTheNextPing() async throws {
        let mock = await MockSocket()
        await mock.waitForTimers(1)
        mock.clock.move(by: .seconds(15))
        mock.wire.send(ServerFrame.text("a"))
        #expect(try await mock.socket.receive() == .text("a"))
        mock.clock.move(by: .seconds(19))
        await mock.settle()
        #expect(mock.wire.frames == [])
        await mock.waitForTimers(1)
        mock.clock.move(by: .seconds(1))
        #expect(try await mock.wire.frames(1).map(\.first) == [0x89])
        await mock.shutDown()
    }

    @Test func aServerThatDoesNotAnswerIsLost() async throws {
        let mock = await MockSocket(WebSocketOptions(pongTimeout: .seconds(7)))
        let reader = Task { await webSocketFailure { _ = try await mock.socket.receive() } }
        await mock.waitForTimers(1)
        mock.clock.move(by: .seconds(20))
        _ = try await mock.wire.frames(1)
        await mock.waitForTimers(1)
        mock.clock.move(by: .seconds(7) - .nanoseconds(1))
        await mock.settle()
        #expect(!mock.wire.state.value.isClosed)
        mock.clock.move(by: .nanoseconds(1))
        #expect(await reader.value == .noPong(after: .seconds(7)))
        try await mock.wire.waitUntilClosed()
        #expect(mock.wire.frames.map(\.first) == [0x89, 0x88])
        #expect(mock.socket.closeCode == .abnormalClosure)
        await mock.shutDown()
    }

    /// The ping is behind the bytes of messages, which a slow network takes.
    @Test func aServerThatTakesBytesIsNotLost() async throws {
        let mock = await MockSocket(WebSocketOptions(pongTimeout: .seconds(7)))
        mock.wire.setFull(true)
        let sender = Task { try await mock.socket.send("slow") }
        try await mock.wire.waitForWriters(1)
        await mock.waitForTimers(1)
        mock.clock.move(by: .seconds(20))
        _ = try await mock.wire.frames(2)
        await mock.waitForTimers(1)
        mock.clock.move(by: .seconds(5))
        mock.wire.setFull(false)
        try await sender.value
        await mock.settle()
        mock.clock.move(by: .seconds(2))
        await mock.settle()
        await mock.waitForTimers(1)
        #expect(!mock.wire.state.value.isClosed)
        // From then on, the time for the answer counts.
        mock.clock.move(by: .seconds(5))
        try await mock.wire.waitUntilClosed()
        #expect(mock.socket.closeCode == .abnormalClosure)
        await mock.shutDown()
    }

    /// The interval counts from ping to ping, whatever the time for an answer and the answer's own time are.
    @Test(arguments: [5, 20], [5, 20])
    func theIntervalDoesNotDependOnTheAnswers(_ interval: Int, _ limit: Int) async throws {
        let mock = await MockSocket(
            WebSocketOptions(pingInterval: .seconds(interval), pongTimeout: .seconds(limit)))
        var waited = Duration.zero
        for number in 1...4 {
            // Timers for the answer may come first.
            while mock.wire.frames.count < number, waited < .seconds(interval * number) {
                await mock.waitForTimers(1)
                mock.clock.move(by: .milliseconds(500))
                waited += .milliseconds(500)
                await mock.settle()
            }
            let ping = try await mock.wire.frames(number)[number - 1]
            #expect(mock.wire.frames.count == number && waited == .seconds(interval * number))
            mock.clock.move(by: .milliseconds(500))
            waited += .milliseconds(500)
            mock.wire.send(ServerFrame.pong(ping.payload))
            await mock.waitForPongs()
            await mock.settle()
        }
        #expect(mock.socket.latency == .milliseconds(500))
        await mock.shutDown()
    }

    /// The answer may have come while the process was stopped, and was not read yet.
    @Test func aTimerThatIsLateDoesNotLoseTheServer() async throws {
        let mock = await MockSocket()
        await mock.waitForTimers(1)
        mock.clock.move(by: .seconds(20))
        let ping = try await mock.wire.frames(1)[0]
        await mock.waitForTimers(1)
        mock.clock.move(by: .seconds(90))
        await mock.settle()
        await mock.waitForTimers(1)
        #expect(!mock.wire.state.value.isClosed)
        mock.wire.send(ServerFrame.pong(ping.payload))
        try await mock.wire.waitUntilRead()
        mock.clock.move(by: .seconds(20))
        #expect(try await mock.wire.frames(2).map(\.first) == [0x89, 0x89])
        await mock.shutDown()
    }

    @Test func aPingIsAnsweredWhileThisSideCloses() async throws {
        let mock = await MockSocket()
        let ping = Task { try await mock.socket.ping() }
        let sent = try await mock.wire.frames(1)[0]
        let closing = Task { try await mock.socket.close() }
        _ = try await mock.wire.frames(2)
        mock.clock.move(by: .seconds(1))
        mock.wire.send(ServerFrame.pong(sent.payload))
        #expect(try await ping.value == .seconds(1))
        _ = try await mock.finish(after: 1)
        try await closing.value
        await mock.shutDown()
    }

    @Test func aReaderThatIsBusyDoesNotLoseTheServer() async throws {
        let mock = await MockSocket()
        for index in 0..<100 { mock.wire.send(ServerFrame.text("\(index)")) }
        await mock.waitUntilHeldUp()
        await mock.waitForTimers(1)
        mock.clock.move(by: .seconds(20))
        let ping = try await mock.wire.frames(1)[0]
        mock.wire.send(ServerFrame.pong(ping.payload))
        for _ in 0..<5 {
            await mock.waitForTimers(1)
            mock.clock.move(by: .seconds(20))
            await mock.settle()
        }
        #expect(!mock.wire.state.value.isClosed)
        for index in 0..<100 { #expect(try await mock.socket.receive() == .text("\(index)")) }
        try await mock.wire.waitUntilRead()
        await mock.waitForTimers(1)
        mock.clock.move(by: .seconds(19))
        await mock.settle()
        #expect(!mock.wire.state.value.isClosed)
        await mock.shutDown()
    }

    @Test func withoutAnIntervalNoTimerIsSet() async {
        let mock = await MockSocket(WebSocketOptions(pingInterval: nil))
        await mock.settle()
        #expect(await mock.timerCount == 0)
        await mock.shutDown()
    }
}
