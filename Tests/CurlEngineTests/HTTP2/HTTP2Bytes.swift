/// The frames of a server, as bytes (RFC 9113, section 4.1), with fields that use no compression (RFC 7541, section 6.2.2).
enum HTTP2Bytes {
    static let endStream: UInt8 = 1, acknowledgement: UInt8 = 1, endHeaders: UInt8 = 4, padded: UInt8 = 8

    static func frame(_ kind: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
        word(UInt32(payload.count))[1...] + [kind, flags] + word(stream) + payload
    }

    static func word(_ number: UInt32) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) } }

    static func fields(_ fields: [(String, String)]) -> [UInt8] {
        fields.flatMap { [0] + text($0.0) + text($0.1) }
    }

    /// A text with its length as an integer with a prefix of seven bits (RFC 7541, section 5.1).
    private static func text(_ text: String) -> [UInt8] {
        var (length, bytes) = (text.utf8.count, [UInt8]())
        if length < 127 {
            bytes = [UInt8(length)]
        } else {
            bytes = [127]
            length -= 127
            while length >= 128 {
                bytes.append(UInt8(length & 127) | 128)
                length >>= 7
            }
            bytes.append(UInt8(length))
        }
        return bytes + text.utf8
    }

    static func settings(_ values: [(UInt16, UInt32)] = []) -> [UInt8] {
        frame(4, values.flatMap { [UInt8($0.0 >> 8), UInt8($0.0 & 255)] + word($0.1) })
    }

    static func head(
        _ stream: UInt32 = 1, _ fields: [(String, String)] = [(":status", "200")], ends: Bool = false
    ) -> [UInt8] {
        frame(1, flags: endHeaders | (ends ? endStream : 0), stream: stream, Self.fields(fields))
    }

    static func data(_ text: String = "", _ stream: UInt32 = 1, ends: Bool = false) -> [UInt8] {
        frame(0, flags: ends ? endStream : 0, stream: stream, Array(text.utf8))
    }

    static func reset(_ code: UInt32, _ stream: UInt32 = 1) -> [UInt8] { frame(3, stream: stream, word(code)) }

    static func goAway(last: UInt32, code: UInt32 = 0, _ text: String = "") -> [UInt8] {
        frame(7, word(last) + word(code) + Array(text.utf8))
    }

    static func ping(_ number: UInt8, acknowledges: Bool = false) -> [UInt8] {
        frame(6, flags: acknowledges ? acknowledgement : 0, [0, 0, 0, 0, 0, 0, 0, number])
    }

    static func windowUpdate(_ increment: UInt32, _ stream: UInt32 = 0) -> [UInt8] {
        frame(8, stream: stream, word(increment))
    }
}

/// A frame of the client.
struct HTTP2ClientFrame: Equatable {
    let kind: UInt8
    let flags: UInt8
    let stream: UInt32
    let payload: [UInt8]

    static let names = [
        "DATA", "HEADERS", "PRIORITY", "RST_STREAM", "SETTINGS", "PUSH_PROMISE", "PING", "GOAWAY", "WINDOW_UPDATE",
        "CONTINUATION",
    ]

    /// Reads all frames of some bytes, without the preface.
    static func all(in bytes: [UInt8]) -> [HTTP2ClientFrame] {
        var frames: [HTTP2ClientFrame] = []
        var rest = bytes.starts(with: Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)) ? bytes[24...] : bytes[...]
        while rest.count >= 9 {
            let head = Array(rest.prefix(9))
            let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
            frames.append(
                HTTP2ClientFrame(
                    kind: head[3], flags: head[4], stream: number(head[5...]),
                    payload: Array(rest.dropFirst(9).prefix(length))))
            rest = rest.dropFirst(9 + length)
        }
        return frames
    }

    static func number(_ bytes: some Sequence<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }

    /// The frame in words: `RST_STREAM 1: 8`, `DATA 1: 5 bytes, end`.
    var text: String {
        let name = Int(kind) < Self.names.count ? Self.names[Int(kind)] : "frame \(kind)"
        let rest =
            switch kind {
            case 0: ": \(payload.count) bytes"
            case 3, 8: ": \(Self.number(payload))"
            case 4: flags & 1 != 0 ? ": acknowledgement" : ""
            case 6: flags & 1 != 0 ? ": acknowledgement" : ": \(payload.last ?? 0)"
            case 7: ": \(Self.number(payload[4..<8]))"
            default: ""
            }
        return "\(name) \(stream)\(rest)" + (kind < 2 && flags & 1 != 0 ? ", end" : "")
    }
}
