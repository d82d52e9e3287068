public import FoundationEssentials

/// A message of a ``WebSocket``.
public enum WebSocketMessage: Sendable, Hashable {
    /// A message of text, which travels as UTF-8.
    case text(String)
    /// A message of bytes.
    case binary(Data)

    /// The text; `nil` for a message of bytes.
    public var text: String? { if case .text(let text) = self { text } else { nil } }

    /// The bytes of the message, those of a text as UTF-8.
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
