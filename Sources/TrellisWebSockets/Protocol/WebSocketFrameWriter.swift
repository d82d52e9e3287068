import CurlEngine
import FoundationEssentials
import TrellisCore

/// The outgoing side of a connection: messages become frames, each with another mask (RFC 6455, section 5.3).
struct WebSocketFrameWriter {
    /// The largest payload of a frame in bytes. A larger message is sent in several frames, so that control frames can go between them, and
    /// so that a connection holds masked copies of a part of a message only.
    static let largestFrame = 256 << 10
    /// The largest payload of a frame that is lent to the connection, and not allocated: most such frames are sent at once.
    static let largestUnshared = SwitchedConnection.largestAnswer - WebSocketFrameHead.largestSize

    private var random = SecureRandom()
    private let compression: WebSocketDeflate?
    /// The compressor, created with the first message that is compressed, because an idle connection needs none.
    private var deflater: MessageDeflater?

    init(compression: WebSocketDeflate?) { self.compression = compression }

    /// Returns a control frame; `nil` if memory has run out.
    mutating func control(_ opcode: WebSocketFrameHead.Opcode, _ payload: [UInt8]) -> Data? {
        Self.frame(WebSocketFrameHead(opcode: opcode, length: payload.count), payload.span, mask: random.next())
    }

    /// Returns a message as it is sent: as it is, or compressed.
    ///
    /// - Throws: ``MessageDeflater/Failure`` if memory has run out.
    mutating func outgoing(
        _ message: WebSocketMessage, threshold: Int
    ) throws(MessageDeflater.Failure) -> WebSocketOutgoing {
        let opcode: WebSocketFrameHead.Opcode = if case .text = message { .text } else { .binary }
        if let compression, message.byteCount >= threshold {
            if deflater == nil { deflater = compression.makeDeflater() }
            if let deflater {
                let compressed: Data =
                    switch message {
                    case .text(let text): try deflater.deflate(text.utf8.span)
                    case .binary(let data): try deflater.deflate(data.span)
                    }
                return WebSocketOutgoing(opcode: opcode, payload: .binary(compressed), isCompressed: true)
            }
        }
        return WebSocketOutgoing(opcode: opcode, payload: message)
    }

    /// Sends the next frame of a message. Returns whether the connection has room for more; `nil` if all frames were sent before.
    ///
    /// - Throws: ``MessageDeflater/Failure`` if memory has run out; the errors of ``DuplexConnection/send(_:)``.
    mutating func sendFrame(of message: inout WebSocketOutgoing, on connection: any DuplexConnection) throws -> Bool? {
        guard let (head, range) = message.next() else { return nil }
        let mask = random.next()
        switch message.payload {
        case .text(let text): return try Self.send(head, text.utf8.span.extracting(range), mask: mask, on: connection)
        case .binary(let data): return try Self.send(head, data.span.extracting(range), mask: mask, on: connection)
        }
    }

    private static func send(
        _ head: WebSocketFrameHead, _ payload: Span<UInt8>, mask: UInt32, on connection: any DuplexConnection
    ) throws -> Bool {
        guard payload.count <= largestUnshared else {
            guard let frame = frame(head, payload, mask: mask) else { throw MessageDeflater.Failure() }
            return try connection.send(frame)
        }
        return try MaskedBytes.withFrame(
            headCapacity: WebSocketFrameHead.largestSize, payload, mask: mask,
            writeHead: { head.write(mask: mask, to: &$0) }, { try connection.send($0) })
    }

    private static func frame(_ head: WebSocketFrameHead, _ payload: Span<UInt8>, mask: UInt32) -> Data? {
        MaskedBytes.frame(headCapacity: WebSocketFrameHead.largestSize, payload, mask: mask) {
            head.write(mask: mask, to: &$0)
        }
    }
}

/// A message whose first frames may have been sent.
struct WebSocketOutgoing {
    /// The opcode of the first frame.
    let opcode: WebSocketFrameHead.Opcode
    let payload: WebSocketMessage
    var isCompressed = false
    /// The number of bytes of the payload that are in frames already; `nil` after the last frame.
    private var position: Int? = 0

    init(opcode: WebSocketFrameHead.Opcode, payload: WebSocketMessage, isCompressed: Bool = false) {
        self.opcode = opcode
        self.payload = payload
        self.isCompressed = isCompressed
    }

    /// Returns the head of the next frame, and the range of its payload; `nil` after the last frame.
    fileprivate mutating func next() -> (WebSocketFrameHead, Range<Int>)? {
        guard let start = position else { return nil }
        let count = payload.byteCount
        let end = min(count, start + WebSocketFrameWriter.largestFrame)
        position = end < count ? end : nil
        let head = WebSocketFrameHead(
            opcode: start == 0 ? opcode : .continuation, isFinal: end == count,
            isCompressed: isCompressed && start == 0, length: end - start)
        return (head, start..<end)
    }
}
