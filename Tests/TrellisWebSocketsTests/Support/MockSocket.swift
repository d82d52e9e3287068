import CurlEngine
import FoundationEssentials
import HTTPTypes
import TestSupport
import TrellisTesting

@testable import TrellisCore
@testable import TrellisWebSockets

/// An open WebSocket on a connection whose other side is the test, with a clock that the test moves.
struct MockSocket {
    let clock = TestClock()
    let wire = MockConnection()
    let socket: WebSocket
    private let executor: EngineExecutor
    private let connection: WebSocketConnection

    init(_ options: WebSocketOptions = WebSocketOptions(), compression: WebSocketDeflate? = nil) async {
        let engineClock = clock.engineSide
        let executor = EngineExecutor(clock: engineClock)
        self.executor = executor
        let context = WebSocketContext(clock: engineClock, timekeeper: { executor }, url: "http://localhost/")
        let connection = WebSocketConnection(wire, options: options, compression: compression, context: context)
        await connection.start()
        self.connection = connection
        let head = ResponseHead(status: .switchingProtocols)
        socket = WebSocket(
            connection, agreement: WebSocketHandshake.Agreement(),
            response: Response(head: head, url: "http://localhost/"))
    }

    /// Waits until the connection has handled the answers to all its pings, and the ends of their writes.
    func waitForPongs() async {
        while await !connection.state.keepAlive.isAnswered, !Task.isCancelled { await Task.yield() }
        while await connection.state.keepAlive.isPingWaiting, !Task.isCancelled { await Task.yield() }
    }

    /// Waits until nothing is read because enough messages wait for their reader. The last of them was read a moment before.
    func waitUntilHeldUp() async { while await !connection.isHeldUp, !Task.isCancelled { await Task.yield() } }

    /// Waits until the engine thread has handled everything that was due.
    func settle() async {
        for _ in 0..<4 {
            await withContinuation { continuation in executor.submit { continuation.resume() } }
        }
    }

    /// The number of timers that are set.
    var timerCount: Int {
        get async {
            await withContinuation { continuation in
                executor.submit { [executor] in continuation.resume(returning: executor.engineLoop.timerCount) }
            }
        }
    }

    /// The time until the next timer is due; `nil` if none is set.
    var timeToNextTimer: Duration? {
        get async { await executor.timeToNextTimer }
    }

    /// Waits until a number of timers are set.
    func waitForTimers(_ count: Int) async { while await timerCount != count, !Task.isCancelled { await Task.yield() } }

    /// Answers the client's Close frame, and ends the connection, as a server does.
    func finish(after frames: Int = 0) async throws -> ClientFrame {
        let close = try await wire.frames(frames + 1)[frames]
        wire.send(ServerFrame.frame(0x88, close.payload))
        wire.end()
        return close
    }

    /// Ends the thread of the clock.
    func shutDown() async { await executor.shutDown() }
}

/// Returns the outcome of a call of a socket: its kind of failure, or `nil`.
func webSocketFailure(_ body: () async throws -> Void) async -> TrellisError.WebSocketFailure? {
    do {
        try await body()
        return nil
    } catch {
        guard case .webSocketFailed(let failure) = (error as? TrellisError)?.reason else { return nil }
        return failure
    }
}
