import HTTPTypes
import NIOCore

/// The decoder of a request's body, which takes the bytes of the body from the bytes of the connection (RFC 9112, sections 6 and 7.1).
struct BodyDecoder {
    private enum State {
        /// So many bytes of the body, or of the present chunk, follow.
        case bytes(Int64)
        /// The line with the size of the next chunk follows.
        case size
        /// The line end after a chunk follows.
        case chunkEnd
        /// The trailer section follows.
        case trailers
        case ended
    }

    private var state: State
    private let isChunked: Bool
    private var trailerSize = 0
    /// The fields of the trailer section so far.
    private(set) var trailers = HTTPFields()

    /// The largest number of bytes of a line with a chunk's size and extensions.
    private static let maximumLine = 4 << 10
    /// The largest number of bytes of the trailer section.
    private static let maximumTrailers = 16 << 10

    init(_ framing: BodyFraming) {
        isChunked = framing == .chunked
        state =
            switch framing {
            case .none: .ended
            case .length(let count): count == 0 ? .ended : .bytes(count)
            case .chunked: .size
            }
    }

    /// Whether the body is complete.
    var hasEnded: Bool { if case .ended = state { true } else { false } }

    /// Takes the bytes of the body from a buffer, and leaves the bytes that belong to later lines or requests.
    mutating func decode(_ buffer: inout ByteBuffer) throws(Refusal) -> ByteBuffer? {
        var body: ByteBuffer?
        while buffer.readableBytes > 0 {
            switch state {
            case .ended: return body
            case .bytes(let count):
                let length = Int(min(count, Int64(buffer.readableBytes)))
                guard var slice = buffer.readSlice(length: length) else { return body }
                if body == nil { body = slice } else { body?.writeBuffer(&slice) }
                let rest = count - Int64(length)
                state = rest > 0 ? .bytes(rest) : isChunked ? .chunkEnd : .ended
            case .size:
                guard let line = try Self.line(&buffer, limit: Self.maximumLine) else { return body }
                let size = try Self.size(line)
                state = size == 0 ? .trailers : .bytes(size)
            case .chunkEnd:
                guard let line = try Self.line(&buffer, limit: 0) else { return body }
                guard line.isEmpty else { throw Self.malformed }
                state = .size
            case .trailers:
                guard let line = try Self.line(&buffer, limit: Self.maximumTrailers - trailerSize) else { return body }
                trailerSize += line.count + 2
                if line.isEmpty { state = .ended } else { trailers.append(try HTTPField(line: line)) }
            }
        }
        return body
    }

    /// Takes a line from a buffer, and returns it without its line end; `nil` if it is not complete.
    private static func line(_ buffer: inout ByteBuffer, limit: Int) throws(Refusal) -> ArraySlice<UInt8>? {
        let bytes = buffer.readableBytesView.prefix(max(limit, 0) + 2)
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else {
            guard bytes.count < max(limit, 0) + 2 else { throw malformed }
            return nil
        }
        guard let line = buffer.readBytes(length: end - bytes.startIndex + 1)?[...].dropLast(),
            line.last == UInt8(ascii: "\r"), !line.dropLast().contains(UInt8(ascii: "\r"))
        else { throw malformed }
        return line.dropLast()
    }

    /// Returns the size of a chunk from its line (RFC 9112, section 7.1). Its extensions are ignored.
    private static func size(_ line: ArraySlice<UInt8>) throws(Refusal) -> Int64 {
        let digits = line.prefix { byte in
            0x30...0x39 ~= byte || 0x41...0x46 ~= byte || 0x61...0x66 ~= byte
        }
        let rest = line[digits.endIndex...].drop { $0 == 0x20 || $0 == 0x09 }
        guard 1...15 ~= digits.count, line.count == digits.count || rest.first == UInt8(ascii: ";"),
            rest.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }),
            let size = Int64(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw malformed }
        return size
    }

    private static let malformed = Refusal.malformed("the chunks of the body are malformed")
}
