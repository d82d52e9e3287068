/// Which versions of HTTP a request may use.
public enum HTTPVersionPolicy: Sendable, Hashable, CaseIterable {
    /// HTTP/2 where the server offers it during the TLS handshake (ALPN), HTTP/1.1 otherwise.
    case automatic
    /// HTTP/1.1.
    case http1Only
    /// HTTP/2 without negotiation, also over plain TCP (RFC 9113, section 3.3).
    case http2PriorKnowledge
    /// HTTP/3 is tried, and HTTP/2 or HTTP/1.1 used where it does not get through. As ``automatic`` where the running
    /// libcurl has no HTTP/3.
    case http3Preferred
    /// HTTP/3 or an error, of kind ``TrellisError/Kind/unsupported`` where the running libcurl has no HTTP/3.
    case http3Only
}

/// The version of HTTP that carried a response.
public enum HTTPVersion: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// HTTP/1.0.
    case http1_0 = "1.0"
    /// HTTP/1.1 (RFC 9112).
    case http1_1 = "1.1"
    /// HTTP/2 (RFC 9113).
    case http2 = "2"
    /// HTTP/3 (RFC 9114).
    case http3 = "3"

    /// `1.0`, `1.1`, `2` or `3`.
    public var description: String { rawValue }
}
