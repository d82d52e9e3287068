import CurlEngine
package import Foundation
package import TrellisTesting

/// A server of HTTP/2 with prior knowledge that sends raw bytes, for frames that a correct library would not send at all, or not in one
/// piece.
package struct RawHTTP2 {
    /// The frame types and flags (RFC 9113, section 6).
    package static let data: UInt8 = 0, headers: UInt8 = 1, reset: UInt8 = 3, settings: UInt8 = 4
    package static let ping: UInt8 = 6, goAway: UInt8 = 7, windowUpdate: UInt8 = 8, continuation: UInt8 = 9
    package static let endStream: UInt8 = 1, acknowledgement: UInt8 = 1, endHeaders: UInt8 = 4
    /// The field `:status: 200`, from HPACK's table (RFC 7541, appendix A).
    package static let statusOK: [UInt8] = [0x88]

    package let connection: LoopbackServer.Connection

    package init(connection: LoopbackServer.Connection) { self.connection = connection }

    /// Reads the client's preface up to the head of its first request, and returns the stream of that request.
    package func readRequest() throws -> UInt32 {
        _ = try connection.read(exactly: 24)
        try connection.write(Self.frame(Self.settings, 0, stream: 0))
        return try readFurtherRequest()
    }

    /// Reads up to the head of the next request, and returns the stream of that request.
    package func readFurtherRequest() throws -> UInt32 {
        while true {
            let head = try connection.read(exactly: 9)
            let length = head[..<3].reduce(0) { $0 << 8 | Int($1) }
            _ = try connection.read(exactly: length)
            if head[3] == Self.settings, head[4] & Self.acknowledgement == 0 {
                try connection.write(Self.frame(Self.settings, Self.acknowledgement, stream: 0))
            }
            if head[3] == Self.headers { return head[5...].reduce(0) { $0 << 8 | UInt32($1) } }
        }
    }

    package static func frame(_ type: UInt8, _ flags: UInt8, stream: UInt32, _ payload: [UInt8] = []) -> [UInt8] {
        let length = payload.count
        return [UInt8(length >> 16), UInt8(length >> 8 & 255), UInt8(length & 255), type, flags]
            + word(stream) + payload
    }

    /// Returns a number as four bytes.
    package static func word(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
    }

    /// Returns the number of some bytes.
    package static func number(_ bytes: some Sequence<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }

    /// Returns a field in the form of HPACK without any table (RFC 7541, section 6.2.2). Name and value have at most 126 bytes.
    package static func field(_ name: String, _ value: String) -> [UInt8] {
        [0, UInt8(name.utf8.count)] + name.utf8 + [UInt8(value.utf8.count)] + value.utf8
    }

    /// Returns a HEADERS frame, with names in lower case.
    package static func head(_ fields: [HPACKDecoder.Field], stream: UInt32, endsStream: Bool) -> [UInt8] {
        let block = fields.flatMap { field($0.name.lowercasedASCII(), $0.value) }
        return frame(headers, endHeaders | (endsStream ? endStream : 0), stream: stream, block)
    }

    /// Returns a body in frames of at most `size` bytes.
    package static func body(_ bytes: Data, inPiecesOf size: Int, stream: UInt32, endsStream: Bool) -> [UInt8] {
        stride(from: 0, to: bytes.count, by: size).flatMap { start in
            let piece = [UInt8](bytes[start..<min(start + size, bytes.count)])
            let isLast = endsStream && start + piece.count == bytes.count
            return frame(data, isLast ? endStream : 0, stream: stream, piece)
        }
    }
}
