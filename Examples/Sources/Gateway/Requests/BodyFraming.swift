import HTTPTypes

/// The framing of a request's body (RFC 9112, section 6).
enum BodyFraming: Hashable, Sendable {
    /// There is no body.
    case none
    /// The number of bytes is stated, and may be zero.
    case length(Int64)
    /// The body is in chunks.
    case chunked

    /// Reads the framing from the fields of a head. Two statements about the length are refused, even if they agree.
    init(_ fields: HTTPFields, isHTTP1_0: Bool) throws(Refusal) {
        let codings = fields[values: .transferEncoding], lengths = fields[values: .contentLength]
        guard codings.isEmpty || lengths.isEmpty else {
            throw .malformed("the request has both Content-Length and Transfer-Encoding")
        }
        if let coding = codings.first {
            guard !isHTTP1_0 else { throw .malformed("HTTP/1.0 has no Transfer-Encoding") }
            guard codings.count == 1, coding.lowercasedASCII() == "chunked" else {
                throw Refusal(.notImplemented, "the gateway knows no transfer coding but chunked")
            }
            self = .chunked
        } else if let text = lengths.first {
            guard lengths.count == 1, !text.isEmpty, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }),
                let length = Int64(text)
            else { throw .malformed("the field Content-Length is repeated or malformed") }
            self = .length(length)
        } else {
            self = .none
        }
    }

    /// Whether bytes follow the head.
    var hasBody: Bool {
        switch self {
        case .none, .length(0): false
        case .length, .chunked: true
        }
    }
}
