import CurlEngine
public import FoundationEssentials
public import TrellisCore

/// An open WebSocket (RFC 6455): messages of text and bytes in both directions.
///
/// ```swift
/// try await session.withWebSocket("wss://example.com/chat") { socket in
///     try await socket.send("hello")
///     for try await message in socket.messages {
///         if case .text(let text) = message { print(text) }
///     }
/// }
/// ```
///
/// The reader sets the pace: while it is busy, a few messages wait (at most 32, or 256 KiB and one more message), then nothing more is
/// read, and the server stops sending. Sending waits for room too. Pings of the server are answered by themselves; of many that arrive at
/// once or while there is no room, the first ones and the last one are answered (RFC 6455, section 5.5.3). A server that is silent is sent
/// pings (``WebSocketOptions/pingInterval``).
///
/// Releasing the last reference to the socket, and to its streams of messages, closes the connection.
public final class WebSocket: Sendable {
    /// The server's response to the handshake, of status 101, with the metrics up to it. Its URL has the scheme `ws` or
    /// `wss`. Its redirects have the URLs of the handshake's requests, with `http` or `https`.
    public var response: Response { answer.withWebSocketScheme }
    /// The response with the URL of the handshake. It is not copied with another one, because many thousands of connections may be open.
    private let answer: Response
    /// The subprotocol that the server has chosen of ``WebSocketOptions/subprotocols``; `nil` if it has chosen none.
    public let subprotocol: String?
    /// The extensions that the server has accepted, as in its `Sec-WebSocket-Extensions`; empty if there are none.
    public let extensions: String
    private let connection: WebSocketConnection

    init(_ connection: WebSocketConnection, agreement: WebSocketHandshake.Agreement, response: Response) {
        self.connection = connection
        answer = response
        subprotocol = agreement.subprotocol
        extensions = agreement.extensions
    }

    deinit { connection.beginClosing(WebSocketClosing(code: .goingAway)) }

    /// The messages of the server, in their order. Each message goes to one reader.
    ///
    /// The messages end when either side closes the connection: the server with the code 1000, 1001 or none, or this side with any code
    /// and without messages that were dropped or broke a rule (``close(code:reason:)``). Any other end is an error, because messages may be
    /// missing. Cancelling the task of a reader throws `CancellationError` there, and leaves the connection open, as leaving the loop does.
    public var messages: WebSocketMessages { WebSocketMessages(socket: self) }

    /// Returns the next message; `nil` after the last one, as for ``messages``.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/webSocket``, after all messages that came before the failure;
    ///   `CancellationError` in a cancelled task, which does not end the connection.
    public func receive() async throws -> WebSocketMessage? { try await connection.receive() }

    /// Sends a message, and returns when there is room for another one: when at most 64 KiB are not in the socket's buffer yet.
    ///
    /// Messages are sent in the order of the calls. A message of more than 256 KiB is sent in fragments. Returning does not mean that the
    /// server has received the message.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/webSocket`` if the connection is not open any more, the same one for each
    ///   call after its end; `CancellationError` if the task is cancelled before the message's turn, and the message is not sent, or while
    ///   it waits for room, and the message is sent.
    public func send(_ message: WebSocketMessage) async throws { try await connection.send(message) }

    /// Sends a text, as ``send(_:)-(WebSocketMessage)`` does.
    ///
    /// - Throws: As ``send(_:)-(WebSocketMessage)``.
    public func send(_ text: String) async throws { try await connection.send(.text(text)) }

    /// Sends bytes, as ``send(_:)-(WebSocketMessage)`` does.
    ///
    /// - Throws: As ``send(_:)-(WebSocketMessage)``.
    public func send(_ data: Data) async throws { try await connection.send(.binary(data)) }

    /// Sends a ping, and returns the time until the server's answer.
    ///
    /// The answer comes after all messages that the server has sent before: if more of them wait than the socket keeps, the answer is
    /// found when they are read.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/webSocket`` if the connection ends before the answer; `CancellationError` in
    ///   a cancelled task.
    @discardableResult
    public func ping() async throws -> Duration { try await connection.ping() }

    /// The time until the answer to the last ping, of those that were sent by themselves too; `nil` before the first answer.
    public var latency: Duration? { connection.facts.withLock { $0.latency } }

    /// Closes the connection, and returns when it has ended: after the server's Close frame and the end of its bytes, or at the latest
    /// after ``WebSocketOptions/closeTimeout``, also in a cancelled task. Later calls wait for the same end.
    ///
    /// Messages that the server has sent before it received the Close frame can still be read, but the connection does not wait for their
    /// reader. If more arrive than are kept, the messages end before the first one that is dropped, with
    /// ``TrellisError/WebSocketFailure/dropped``.
    ///
    /// - Parameters:
    ///   - code: The code for the server, 1000 unless given.
    ///   - reason: A reason for the server's logs; the first 123 bytes are sent.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/webSocket`` if no Close frame may have the code
    ///   (``WebSocketCloseCode/isSendable``).
    public func close(code: WebSocketCloseCode = .normalClosure, reason: String = "") async throws {
        guard code.isSendable else {
            throw connection.context.error(.invalidArgument("the close code \(code) cannot be sent"))
        }
        await connection.close(WebSocketClosing(code: code, reason: reason))
    }

    /// The server's close code: 1005 if its Close frame had none, and 1006 if there was no Close frame.
    /// `nil` while the connection is open.
    public var closeCode: WebSocketCloseCode? { connection.facts.withLock { $0.closing?.code } }

    /// The reason that the server has given with its ``closeCode``, for logs; `nil` while the connection is open.
    public var closeReason: String? { connection.facts.withLock { $0.closing?.reason } }

    /// Whether the server has sent a message.
    var hasMessages: Bool { connection.facts.withLock { $0.hasMessages } }

    /// The error of calls after the end of the connection.
    var endError: TrellisError { get async { await connection.notOpen } }

    /// Begins to close the connection, as if its owner went away.
    func beginClosing() { connection.beginClosing(WebSocketClosing(code: .goingAway)) }

    /// Closes the connection, and returns when it has ended.
    func end(_ code: WebSocketCloseCode) async { await connection.close(WebSocketClosing(code: code)) }
}
