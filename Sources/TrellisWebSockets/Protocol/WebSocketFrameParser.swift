import FoundationEssentials
import TrellisCore

/// The parser of a server's frames, fed with bytes that are cut anywhere (RFC 6455, section 5.2).
///
/// Every rule about a frame is checked at the first byte that breaks it. The ``WebSocketAssembler`` has the rules about its place among
/// others.
struct WebSocketFrameParser {
    /// A part of a frame.
    enum Part: Equatable {
        /// The head of a frame.
        case head(WebSocketFrameHead)
        /// The next bytes of the payload, by their place in the bytes that the parser was given. The last part of each frame, which may be
        /// empty, is the only one that is marked as the end.
        case payload(Range<Int>, isEnd: Bool)
    }

    private enum Place {
        case firstByte
        case secondByte(WebSocketFrameHead)
        /// Within the longer forms of the length.
        case length(WebSocketFrameHead, value: UInt64, missing: Int, size: Int)
        case payload(missing: Int)
    }

    /// Whether a message may be compressed.
    let allowsCompression: Bool
    /// The limit on the payload of a frame in bytes.
    let limit: Int
    private var place = Place.firstByte

    init(allowsCompression: Bool, limit: Int) {
        self.allowsCompression = allowsCompression
        self.limit = limit
    }

    /// Whether the bytes so far end between two frames.
    var isBetweenFrames: Bool { if case .firstByte = place { true } else { false } }

    /// Returns the next part of the bytes from `position` on, and moves the position to its end; `nil` if more bytes are needed.
    mutating func next(in bytes: Span<UInt8>, from position: inout Int) throws(WebSocketViolation) -> Part? {
        if case .payload(let missing) = place {
            let count = min(missing, bytes.count - position)
            guard count > 0 || missing == 0 else { return nil }
            let range = position..<position + count
            position += count
            place = count == missing ? .firstByte : .payload(missing: missing - count)
            return .payload(range, isEnd: count == missing)
        }
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if let head = try add(byte) {
                place = .payload(missing: head.length)
                return .head(head)
            }
        }
        return nil
    }

    /// Adds a byte of a head. Returns the head if the byte completes it.
    private mutating func add(_ byte: UInt8) throws(WebSocketViolation) -> WebSocketFrameHead? {
        switch place {
        case .firstByte:
            place = .secondByte(try begin(byte))
            return nil
        case .secondByte(var head):
            guard byte & 0x80 == 0 else { throw .protocol("a frame of the server is masked") }
            switch byte {
            case 126, 127:
                guard !head.opcode.isControl else { throw .protocol("a control frame exceeds 125 bytes") }
                let size = byte == 126 ? 2 : 8
                place = .length(head, value: 0, missing: size, size: size)
                return nil
            default:
                head.length = Int(byte)
                return try checked(head)
            }
        case .length(var head, var value, let missing, let size):
            guard missing < 8 || byte & 0x80 == 0 else { throw .protocol("the length of a frame is 2^63 or more") }
            value = value << 8 | UInt64(byte)
            guard missing == 1 else {
                place = .length(head, value: value, missing: missing - 1, size: size)
                return nil
            }
            guard value > (size == 2 ? 125 : 0xFFFF) else {
                throw .protocol("the length of a frame has more bytes than it needs")
            }
            head.length = Int(value)
            return try checked(head)
        case .payload: return nil
        }
    }

    private func begin(_ byte: UInt8) throws(WebSocketViolation) -> WebSocketFrameHead {
        guard let opcode = WebSocketFrameHead.Opcode(rawValue: byte & 0x0F) else {
            throw .protocol("the opcode \(byte & 0x0F) of a frame is reserved")
        }
        let head = WebSocketFrameHead(
            opcode: opcode, isFinal: byte & 0x80 != 0, isCompressed: byte & 0x40 != 0, length: 0)
        guard byte & 0x30 == 0 else { throw .protocol("a reserved bit of a frame is set") }
        if head.isCompressed {
            guard allowsCompression else { throw .protocol("a reserved bit of a frame is set") }
            guard opcode == .text || opcode == .binary else {
                throw .protocol("a frame other than the first of a message is marked as compressed")
            }
        }
        guard head.isFinal || !opcode.isControl else { throw .protocol("a control frame is fragmented") }
        return head
    }

    private func checked(_ head: WebSocketFrameHead) throws(WebSocketViolation) -> WebSocketFrameHead {
        guard head.length <= limit || head.opcode.isControl else { throw .tooLarge("frame", limit: limit) }
        return head
    }
}
