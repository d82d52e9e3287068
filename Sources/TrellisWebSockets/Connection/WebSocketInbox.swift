import CurlEngine
import FoundationEssentials
import TrellisCore

/// The incoming side of a connection: the reader of its bytes, and the messages that wait for a caller. A pure value.
struct WebSocketInbox: ~Copyable {
    /// The part of the incoming bytes that is read.
    enum Reading: Hashable, Sendable {
        /// Frames, as soon as there are some.
        case frames
        /// Frames, by a caller that waits for a message.
        case framesOfCaller
        /// Nothing: too many messages wait for their reader.
        case heldUp
        /// Nothing: the other frames of the bytes that were read are handled in the next turn.
        case later
        /// Nothing: the messages before a violation are read and answered first.
        case nothing
        /// Bytes that are not understood any more and dropped, after a violation.
        case rest
        /// Nothing, because the connection has ended.
        case ended
    }

    /// The messages that wait for a reader, beyond which nothing is read from the connection, by their number and bytes.
    static let mark = (count: 32, bytes: 256 << 10)

    /// The parser of the incoming bytes.
    var reader: WebSocketReader
    var reading = Reading.frames
    private var messages = FIFO<WebSocketMessage>()
    private var byteCount = 0
    /// Whether a reader has a message and did not ask for the next one yet.
    var isMessageInHands = false
    /// Whether the server has sent a message.
    private var hasReceived = false
    /// Whether a message was dropped because nothing read the messages before it.
    private(set) var hasDropped = false

    init(_ options: WebSocketOptions, compression: WebSocketDeflate?) {
        reader = WebSocketReader(
            maximumFrameSize: options.maximumFrameSize ?? options.maximumMessageSize,
            maximumMessageSize: options.maximumMessageSize, compression: compression)
    }

    /// Whether no message waits.
    var isEmpty: Bool { messages.isEmpty }

    /// Whether enough messages wait for their reader.
    var isAboveMark: Bool { messages.count >= Self.mark.count || byteCount >= Self.mark.bytes }

    /// Whether so few messages wait that reading is resumed.
    var isBelowLowMark: Bool { messages.count <= Self.mark.count / 2 && byteCount <= Self.mark.bytes / 2 }

    /// Whether a reader has messages to read or to answer.
    var hasUnread: Bool { isMessageInHands || !messages.isEmpty }

    /// Adds a message. While this side closes, reading continues for the server's Close frame, and messages above the mark are dropped.
    /// Returns whether the message is the first one.
    mutating func add(_ message: WebSocketMessage, isOpen: Bool) -> Bool {
        // After a message that was dropped, the others must not be taken for those that follow the last one.
        guard !hasDropped else { return false }
        guard isOpen || !isAboveMark else {
            hasDropped = true
            return false
        }
        messages.append(message)
        byteCount += message.byteCount
        defer { hasReceived = true }
        return !hasReceived
    }

    /// Takes the next message; `nil` if none waits.
    mutating func take() -> WebSocketMessage? {
        guard let message = messages.popFirst() else { return nil }
        byteCount -= message.byteCount
        isMessageInHands = true
        return message
    }
}
