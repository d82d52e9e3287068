import Trellis

/// The server behind a gateway, and the way to speak to it.
struct Origin: Sendable {
    /// The scheme, host and port, such as `http://localhost:8080`.
    let url: String
    /// The versions of HTTP that may be spoken.
    let version: HTTPVersionPolicy

    /// Returns whether the trailers of a request are passed on. Nothing sends them over HTTP/3. A request that announces trailers goes
    /// without it; others keep HTTP/3 where it is preferred, and their trailers are dropped, which RFC 9110, section 6.5.1, allows.
    func passesTrailers(of head: RequestHead) -> Bool {
        guard head.framing == .chunked else { return false }
        return switch version {
        case .automatic, .http1Only, .http2, .http2PriorKnowledge: true
        case .http3Preferred: !url.lowercasedASCII().hasPrefix("https:") || head.fields.contains(.trailer)
        case .http3Only: false
        }
    }
}
