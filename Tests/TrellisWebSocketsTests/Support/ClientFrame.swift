@testable import TrellisCore
@testable import TrellisWebSockets

/// A frame of the client, as a server reads it.
struct ClientFrame: Equatable {
    /// The first byte: the final bit, the reserved bits and the opcode.
    let first: UInt8
    let mask: [UInt8]
    /// The payload without its mask.
    let payload: [UInt8]

    /// The frame as a server would send it.
    var unmasked: [UInt8] { ServerFrame.frame(first, payload) }

    /// Returns the complete frames of bytes. Frames without a mask, and lengths that are not in their shortest form, are left out.
    static func all(in bytes: [UInt8]) -> [ClientFrame] {
        var rest = bytes[...]
        var frames: [ClientFrame] = []
        while let frame = take(&rest) { frames.append(frame) }
        return rest.isEmpty ? frames : []
    }

    /// Removes the first frame from bytes, and returns it; `nil` if it is not complete or not as a client must send it.
    static func take(_ rest: inout ArraySlice<UInt8>) -> ClientFrame? {
        let bytes = Array(rest.prefix(14))
        guard bytes.count >= 6, bytes[1] & 0x80 != 0 else { return nil }
        let size = bytes[1] == 0xFE ? 2 : bytes[1] == 0xFF ? 8 : 0
        guard bytes.count >= 6 + size else { return nil }
        let length = size == 0 ? Int(bytes[1] & 0x7F) : bytes[2..<2 + size].reduce(0) { $0 << 8 | Int($1) }
        guard length >= (size == 0 ? 0 : size == 2 ? 126 : 65536), rest.count >= 6 + size + length else { return nil }
        let mask = Array(bytes[2 + size..<6 + size])
        let payload = rest.dropFirst(6 + size).prefix(length).enumerated().map { $0.element ^ mask[$0.offset % 4] }
        rest = rest.dropFirst(6 + size + length)
        return ClientFrame(first: bytes[0], mask: mask, payload: payload)
    }
}
