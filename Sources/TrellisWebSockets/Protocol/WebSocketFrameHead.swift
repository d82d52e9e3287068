import TrellisCore

/// The first part of a frame, before its payload (RFC 6455, section 5.2).
struct WebSocketFrameHead: Hashable, Sendable {
    /// The meaning of a frame's payload.
    enum Opcode: UInt8, Sendable {
        case continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10

        /// Whether the frame is of the connection, and not of a message.
        var isControl: Bool { rawValue >= 8 }
    }

    var opcode: Opcode
    /// Whether the frame is the last of its message.
    var isFinal = true
    /// Whether the message that begins with this frame is compressed (RFC 7692, section 6).
    var isCompressed = false
    /// The number of bytes of the payload.
    var length: Int

    /// The size of the largest head of a client's frame in bytes.
    static let largestSize = 14

    /// Writes the head of a client's frame, whose payload is masked with the bytes of `mask` in memory, into room for
    /// ``largestSize`` bytes.
    func write(mask: UInt32, to bytes: inout OutputSpan<UInt8>) {
        bytes.append(opcode.rawValue | (isFinal ? 0x80 : 0) | (isCompressed ? 0x40 : 0))
        switch length {
        case ...125: bytes.append(0x80 | UInt8(length))
        case ...0xFFFF:
            bytes.append(0x80 | 126)
            bytes.append(UInt8(length >> 8))
            bytes.append(UInt8(length & 0xFF))
        default:
            bytes.append(0x80 | 127)
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: length >> shift))
            }
        }
        let key = mask.littleEndian
        for shift in stride(from: 0 as UInt32, to: 32, by: 8) { bytes.append(UInt8(truncatingIfNeeded: key >> shift)) }
    }
}
