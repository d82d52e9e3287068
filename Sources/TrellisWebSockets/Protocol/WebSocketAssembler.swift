import CurlEngine
import FoundationEssentials
import TrellisCore

/// Something complete that a server has sent.
enum WebSocketEvent: Hashable, Sendable {
    case message(WebSocketMessage)
    /// A Ping frame, and its payload, which the answer repeats.
    case ping(Data)
    /// A Pong frame with the payload of the Ping frame that it answers.
    case pong(Data)
    case close(WebSocketClosing)
}

/// The joining of frames to messages: fragments, control frames between them, decompression, and the check of text as it arrives
/// (RFC 6455, sections 5.4, 5.5 and 8.1).
struct WebSocketAssembler: ~Copyable {
    /// The largest buffer of a message that is allocated before its bytes have come.
    private static let largestReservation = 256 << 10
    /// The largest message whose buffer is not allocated in advance.
    private static let smallMessage = 1024

    /// The limit on a message in bytes, before and after decompression.
    private let limit: Int
    /// The agreed compression; `nil` if there is none.
    private let compression: WebSocketDeflate?
    /// The decompressor, created with the first compressed message, because an idle connection needs none.
    private var inflater: MessageInflater?
    /// The frame whose payload comes next.
    private var frame: WebSocketFrameHead?
    /// The first frame of the message whose fragments arrive; `nil` between messages.
    private var first: WebSocketFrameHead?
    private var message = ByteAccumulator()
    /// The announced bytes of the message's frames.
    private var wireCount = 0
    private var text = UTF8Progress()
    private var control: [UInt8] = []

    init(limit: Int, compression: WebSocketDeflate?) {
        self.limit = limit
        self.compression = compression
    }

    /// Begins a frame.
    mutating func begin(_ head: WebSocketFrameHead) throws(WebSocketViolation) {
        frame = head
        if head.opcode.isControl {
            control.removeAll(keepingCapacity: true)
            return
        }
        if head.opcode == .continuation {
            guard first != nil else { throw .protocol("a continuation frame belongs to no message") }
        } else {
            guard first == nil else { throw .protocol("a message begins before the end of the one before") }
            first = head
            wireCount = 0
            text = UTF8Progress()
        }
        guard head.length <= limit - wireCount else { throw .tooLarge("message", limit: limit) }
        wireCount += head.length
        if wireCount > Self.smallMessage, first?.isCompressed == false {
            message.reserve(min(wireCount, Self.largestReservation))
        }
    }

    /// Adds the next bytes of the frame's payload. Returns the event that they complete.
    mutating func add(_ bytes: Span<UInt8>, isEnd: Bool) throws(WebSocketViolation) -> WebSocketEvent? {
        guard let frame else { return nil }
        if frame.opcode.isControl {
            for index in bytes.indices { control.append(bytes[index]) }
            return isEnd ? try controlEvent(frame.opcode) : nil
        }
        guard let first else { return nil }
        if first.isCompressed { try inflate(bytes) } else { try append(bytes, first) }
        guard isEnd, frame.isFinal else { return nil }
        if first.isCompressed { try finishInflating() }
        self.first = nil
        let data = message.take()
        guard first.opcode == .text else { return .message(.binary(data)) }
        guard text.isComplete else { throw .text("a text ends within a character") }
        return .message(.text(String(decoding: data, as: UTF8.self)))
    }

    private mutating func append(_ bytes: Span<UInt8>, _ first: WebSocketFrameHead) throws(WebSocketViolation) {
        let room = limit - message.count
        // The bytes within the limit come first, however many come at once.
        if first.opcode == .text, !text.add(bytes.extracting(first: room)) { throw .text("a text is not UTF-8") }
        guard bytes.count <= room else { throw .tooLarge("message", limit: limit) }
        guard message.append(bytes) else {
            throw WebSocketViolation(code: .internalError, message: "out of memory for a message")
        }
    }

    // MARK: Compression

    private mutating func inflate(_ bytes: Span<UInt8>) throws(WebSocketViolation) {
        try withInflater { (inflater, take) throws(MessageInflater.Failure) in
            try inflater.inflate(bytes, into: take)
        }
    }

    private mutating func finishInflating() throws(WebSocketViolation) {
        try withInflater { (inflater, _) throws(MessageInflater.Failure) in try inflater.finish() }
    }

    private mutating func withInflater(
        _ body: (MessageInflater, (Span<UInt8>) -> Bool) throws(MessageInflater.Failure) -> Void
    ) throws(WebSocketViolation) {
        guard let first, let inflater = self.inflater ?? compression?.makeInflater() else {
            throw WebSocketViolation(code: .internalError, message: "there is no zlib for a compressed message")
        }
        self.inflater = inflater
        var violation: WebSocketViolation?
        do throws(MessageInflater.Failure) {
            try body(inflater) { piece in
                do throws(WebSocketViolation) { try append(piece, first) } catch { violation = error }
                return violation == nil
            }
        } catch {
            switch error {
            case .corrupt:
                violation =
                    violation
                    ?? WebSocketViolation(code: .invalidPayload, message: "a compressed message cannot be decompressed")
            case .outOfMemory:
                violation = WebSocketViolation(code: .internalError, message: "out of memory for a message")
            }
        }
        if let violation { throw violation }
    }

    // MARK: Control frames

    private func controlEvent(_ opcode: WebSocketFrameHead.Opcode) throws(WebSocketViolation) -> WebSocketEvent {
        switch opcode {
        case .ping: .ping(Data(control))
        case .pong: .pong(Data(control))
        default: .close(try closing())
        }
    }

    /// Returns the content of a Close frame (RFC 6455, sections 5.5.1 and 7.4).
    private func closing() throws(WebSocketViolation) -> WebSocketClosing {
        if control.isEmpty { return WebSocketClosing(code: .noStatusReceived) }
        guard control.count >= 2 else { throw .protocol("a Close frame has half a code") }
        let code = WebSocketCloseCode(rawValue: UInt16(control[0]) << 8 | UInt16(control[1]))
        guard code.isSendable else { throw .protocol("a Close frame has the code \(code), which no frame may have") }
        guard let reason = String(validating: control[2...], as: UTF8.self) else {
            throw .text("the reason of a Close frame is not UTF-8")
        }
        return WebSocketClosing(code: code, reason: reason)
    }
}
