public import FoundationEssentials
import TrellisCore

/// A message of a ``WebSocket``.
public enum WebSocketMessage: Sendable, Hashable {
    /// A message of text, which travels as UTF-8.
    case text(String)
    /// A message of bytes.
    case binary(Data)

    /// The text; `nil` for a message of bytes.
    public var text: String? { if case .text(let text) = self { text } else { nil } }

    /// The bytes of the message; a text's as UTF-8.
    public var data: Data {
        switch self {
        case .text(let text): Data(text.utf8)
        case .binary(let data): data
        }
    }

    /// The number of bytes of the message, before compression.
    public var byteCount: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .binary(let data): data.count
        }
    }
}

/// The messages of a WebSocket: see ``WebSocket/messages``.
public struct WebSocketMessages: AsyncSequence, Sendable {
    /// A message.
    public typealias Element = WebSocketMessage

    let socket: WebSocket

    /// Returns an iterator over the messages that no reader has got yet.
    public func makeAsyncIterator() -> Iterator { Iterator(socket: socket) }

    /// The iterator over the messages.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let socket: WebSocket

        /// Returns the next message; `nil` after the last one.
        ///
        /// - Throws: As ``WebSocket/receive()``.
        public mutating func next() async throws -> WebSocketMessage? { try await socket.receive() }

        /// Returns the next message, as ``next()`` does. Runs on the actor of the caller, regardless of the argument.
        public nonisolated(nonsending) mutating func next(isolation actor: (any Actor)?) async throws
            -> WebSocketMessage?
        {
            try await next()
        }
    }
}
