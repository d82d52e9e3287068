/// A server's GOAWAY (RFC 9113, section 6.8).
struct HTTP2GoAway: Hashable, Sendable {
    /// The last stream that the server has processed, or may yet process.
    let lastStream: Int32
    /// The reason.
    let code: HTTP2ErrorCode
    /// The server's words for the reason, with all bytes escaped that are not printable ASCII; empty if there are none.
    let text: String

    /// The number of bytes of the server's words that are kept.
    private static let longestText = 256

    /// Reads the parts of a frame.
    init(lastStream: Int32, code: HTTP2ErrorCode, debug: some Collection<UInt8> = EmptyCollection()) {
        (self.lastStream, self.code, text) = (lastStream, code, Self.escaped(debug))
    }

    /// Adds a frame to those before: the last stream is the last one's, and the reason the first one that is an error.
    init(_ frame: Self, after former: Self?) {
        let reason = former.flatMap { $0.code == .noError ? nil : $0 } ?? frame
        (lastStream, code, text) = (frame.lastStream, reason.code, reason.text)
    }

    /// Whether the server has certainly not processed the request of a stream, so that it may be sent again, whatever its method.
    func excludes(_ stream: Int32) -> Bool { stream > lastStream }

    /// The failure of a request that the server has not processed.
    var refusal: EngineFailure { failure(isUnprocessed: true) }

    /// The failure of a request that the server may have processed, if the connection ends before the response.
    var loss: EngineFailure { failure(isUnprocessed: false) }

    private func failure(isUnprocessed: Bool) -> EngineFailure {
        let words = text.isEmpty ? "" : ": \(text)"
        return EngineFailure(
            kind: .http2, message: "the server has closed the connection with GOAWAY (\(code.name))\(words)",
            isUnprocessed: isUnprocessed)
    }

    private static func escaped(_ bytes: some Collection<UInt8>) -> String {
        var text = ""
        for byte in bytes.prefix(longestText) {
            switch byte {
            case 0x5c: text += "\\\\"
            case 0x20...0x7e: text.unicodeScalars.append(Unicode.Scalar(byte))
            default: text += "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
        }
        return bytes.count > longestText ? text + "…" : text
    }
}
