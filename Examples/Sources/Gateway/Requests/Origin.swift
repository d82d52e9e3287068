import Trellis

/// The server behind a gateway, and the way to speak to it.
struct Origin: Sendable {
    /// The scheme, host and port, such as `http://localhost:8080`.
    let url: String
    /// The versions of HTTP that may be spoken.
    let version: HTTPVersionPolicy

    /// Returns whether the trailers of a request are passed on: libcurl sends trailers since 8.7, and over HTTP/1.1 alone. A request that
    /// announces trailers goes to an origin over TLS in that version; others keep the version that the origin has agreed to, and their
    /// trailers are dropped, which RFC 9110, section 6.5.1, allows.
    func passesTrailers(of head: RequestHead) -> Bool {
        guard head.framing == .chunked, Self.sendsTrailers else { return false }
        return switch version {
        case .http1Only: true
        case .automatic, .http3Preferred: !url.lowercasedASCII().hasPrefix("https:") || head.fields.contains(.trailer)
        case .http2, .http2PriorKnowledge, .http3Only: false
        }
    }

    /// Whether the running libcurl sends trailers.
    private static let sendsTrailers: Bool = {
        let parts = TrellisRuntime.libcurlVersion.utf8.split(separator: UInt8(ascii: "."))
        let numbers = parts.map { Int(Substring($0)) ?? 0 }
        return !numbers.lexicographicallyPrecedes([8, 7])
    }()
}
