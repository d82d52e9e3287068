/// The body of a request on its way: its framing, and what of it is still to be sent (RFC 9112, section 6).
struct HTTP1OutgoingBody: Hashable, Sendable {
    /// How the end of a body is marked.
    enum Framing: Hashable, Sendable {
        case none, chunked
        /// The number of bytes that are still to be sent.
        case length(Int64)
    }

    /// The properties of the request on which the reading of its response depends.
    let traits: HTTP1RequestTraits
    /// How the end of the body is marked.
    private(set) var framing: Framing
    /// Whether a chunk was begun, whose end of line is still to be sent.
    private var hasOpenChunk = false

    init(_ options: TransferOptions, _ traits: HTTP1RequestTraits) {
        var traits = traits
        switch options.method.utf8.count {
        case 4 where options.method == "HEAD": traits.insert(.isHead)
        case 7 where options.method == "CONNECT": traits.insert(.isConnect)
        default: break
        }
        if options.switchesProtocols { traits.insert(.switchesProtocols) }
        self.traits = traits
        framing =
            switch options.body {
            case .none: .none
            case .bytes(let bytes): .length(Int64(bytes.count))
            case .stream(let length?) where !options.hasTrailers: .length(length)
            case .stream: .chunked
            }
    }

    /// Whether no byte of the body may follow, so that only ``appendEnd(trailers:to:)`` is left.
    var isComplete: Bool {
        switch framing {
        case .none: true
        case .length(let rest): rest == 0
        case .chunked: false
        }
    }

    /// Appends the field that tells the framing, if there is a body, and the empty line after the head.
    func appendFraming(to bytes: inout [UInt8]) {
        switch framing {
        case .none: bytes += "\r\n".utf8
        case .length(let length):
            bytes += "Content-Length: ".utf8
            bytes.append(decimal: length)
            bytes += "\r\n\r\n".utf8
        case .chunked: bytes += "Transfer-Encoding: chunked\r\n\r\n".utf8
        }
    }

    /// Appends what stands before the next bytes of the body: the size of a chunk of them, if the body is chunked.
    mutating func appendPrefix(of count: Int, to bytes: inout [UInt8]) {
        // A chunk of no bytes would end the body.
        guard framing == .chunked, count > 0 else { return }
        if hasOpenChunk { bytes += "\r\n".utf8 }
        hasOpenChunk = true
        var shift = (63 - count.leadingZeroBitCount) / 4 * 4
        while shift >= 0 {
            let digit = UInt8(truncatingIfNeeded: count >> shift & 15)
            bytes.append(digit + (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10))
            shift -= 4
        }
        bytes += "\r\n".utf8
    }

    /// Appends what stands after the bytes of a chunk, if one is open. A server that waits for it would otherwise not use the chunk before
    /// the next one.
    mutating func appendSuffix(to bytes: inout [UInt8]) {
        guard hasOpenChunk else { return }
        hasOpenChunk = false
        bytes += "\r\n".utf8
    }

    /// Records that bytes of the body were sent. Returns `false` if they are more than the length that was announced.
    @discardableResult
    mutating func didSend(_ count: Int) -> Bool {
        guard case .length(let rest) = framing else { return framing == .chunked || count == 0 }
        framing = .length(max(rest - Int64(count), 0))
        return rest >= count
    }

    /// Appends the end of the body: the last chunk and the trailers, if the body is chunked.
    ///
    /// Throws if a trailer field would be read as something else.
    mutating func appendEnd(trailers: HeaderLines?, to bytes: inout [UInt8]) throws(EngineFailure) {
        guard framing == .chunked else { return }
        guard let lines = trailers.map({ $0.written()?.bytes }) ?? [] else {
            throw EngineFailure(kind: .internalError, message: "a trailer field of the request is malformed")
        }
        if hasOpenChunk { bytes += "\r\n".utf8 }
        hasOpenChunk = false
        bytes += "0\r\n".utf8
        bytes += lines
        bytes += "\r\n".utf8
    }
}

extension [UInt8] {
    /// Appends a number that is not negative.
    fileprivate mutating func append(decimal number: Int64) {
        let start = count
        var rest = number
        repeat {
            append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        } while rest > 0
        self[start...].reverse()
    }
}
