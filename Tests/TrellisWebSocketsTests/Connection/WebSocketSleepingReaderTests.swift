import FoundationEssentials
import Testing

@testable import TrellisCore
@testable import TrellisTesting
@testable import TrellisWebSockets

/// A server that sends messages and pings, while nothing receives the messages.
@Suite(.timeLimit(.minutes(3)))
struct WebSocketSleepingReaderTests {
    /// Until enough messages wait, pings are answered without a reader. A ping behind them is answered once some of them are read.
    @Test func pingsAreAnsweredUpToTheMark() async throws {
        let mock = await MockSocket(WebSocketOptions(pingInterval: nil))
        let mark = UInt8(WebSocketInbox.mark.count)
        let pings = stride(from: 0, to: mark - 1, by: 4).map { [$0] }
        for number in 0..<mark - 1 {
            mock.wire.send(ServerFrame.binary([number]) + (number % 4 == 0 ? ServerFrame.ping([number]) : []))
        }
        let early = try await mock.wire.frames(pings.count)
        #expect(early.map(\.payload) == pings && early.allSatisfy { $0.first == 0x8A })
        mock.wire.send(ServerFrame.binary([mark - 1]) + ServerFrame.ping([mark - 1]))
        try await mock.wire.state.wait { $0.readCount == Int(mark) }
        // All but one of the messages above the low mark.
        for number in 0..<mark / 2 - 1 { #expect(try await mock.socket.receive() == .binary(Data([number]))) }
        #expect(mock.wire.frames.count == pings.count)
        for number in mark / 2 - 1..<mark { #expect(try await mock.socket.receive() == .binary(Data([number]))) }
        let all = try await mock.wire.frames(pings.count + 1)
        #expect(all.last?.first == 0x8A && all.last?.payload == [mark - 1])
        await mock.shutDown()
    }

    /// A Close frame behind the mark is found as soon as its messages are read, and none of them is lost.
    @Test func theCloseFrameBehindTheMarkIsFound() async throws {
        let mock = await MockSocket(WebSocketOptions(pingInterval: nil))
        let count = WebSocketInbox.mark.count + 5
        var bytes: [UInt8] = []
        for number in 0..<count { bytes += ServerFrame.text("\(number)") }
        mock.wire.send(bytes + ServerFrame.close(1000))
        mock.wire.end()
        try await mock.wire.state.wait { $0.readCount == 1 }
        for number in 0..<count { #expect(try await mock.socket.receive() == .text("\(number)")) }
        #expect(try await mock.socket.receive() == nil)
        #expect(mock.socket.closeCode == .normalClosure)
        try await mock.wire.waitUntilClosed()
        await mock.shutDown()
    }
}
