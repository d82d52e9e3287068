import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing

@testable import TrellisCore
@testable import TrellisTesting
@testable import TrellisWebSockets

/// The end of a conversation whose task is cancelled, on the framework's clock.
@Suite(.timeLimit(.minutes(3)))
struct WebSocketCancellationTests {
    private let clock = TestClock()
    private let wire = MockConnection()

    /// Returns a session whose server accepts each handshake on the connection of the test.
    private func session() -> Session {
        Session(transport: MockTransport { [wire] in wire.acceptance(of: $0) }, clock: clock)
    }

    /// The server is told at once, has the time that closing may take, and is then cut.
    @Test func aServerThatNeverAnswersTheCloseFrameIsCut() async throws {
        let session = session()
        let options = WebSocketOptions(pingInterval: nil, closeTimeout: .seconds(3))
        let isOpen = LoopbackServer.Gate(), mayEnd = LoopbackServer.Gate()
        let task = Task {
            try await session.withWebSocket("ws://example.com/", options: options) { socket in
                isOpen.open()
                // A task of its own is not cancelled, so that the Close frame is sent while the closure still runs.
                try await Task { try await mayEnd.opened() }.value
                _ = try await socket.receive()
            }
        }
        try await isOpen.opened()
        task.cancel()
        let close = try await wire.frames(1)[0]
        #expect(close.first == 0x88 && close.payload == [0x03, 0xE9])
        mayEnd.open()
        await session.settle()
        #expect(!wire.state.value.isClosed)
        // The timer is set by a task. The clock moves until that timer has fired, which cannot be before its three seconds.
        while !wire.state.value.isClosed, !Task.isCancelled {
            clock.move(by: .seconds(1))
            await session.settle()
        }
        #expect(wire.state.value.isClosed && clock.now.elapsed >= .seconds(3))
        // Without a limit, the end of the server's bytes would be the only end.
        wire.end()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(wire.frames.count == 1)
        await session.shutdown()
    }
}
