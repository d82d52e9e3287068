/// The versions of HTTP that a request may use.
public enum HTTPVersionPolicy: Sendable, Hashable, CaseIterable {
    /// HTTP/2 if the server offers it during the TLS handshake (ALPN), HTTP/1.1 otherwise; HTTP/1.1 without nghttp2, or with libcurl 8.1.0.
    case automatic
    /// HTTP/1.1.
    case http1Only
    /// HTTP/2, or an error. The kind is ``TrellisError/Kind/http2`` if the server does not agree on HTTP/2 during the TLS handshake (ALPN;
    /// RFC 9113, section 3.2): nothing of the request is sent then, and no retry policy sends it again. It is
    /// ``TrellisError/Kind/unsupported`` for an `http` URL, and where HTTP/2 is not available.
    case http2
    /// HTTP/2 without negotiation, also over plain TCP (RFC 9113, section 3.3).
    case http2PriorKnowledge
    /// HTTP/3, or what ``automatic`` allows: if no HTTP/3 connection is ready after 100 milliseconds, one over TCP is made beside it, and
    /// the first one that is ready gets the request. Where HTTP/3 has lost or failed, it is not tried for five minutes. Without HTTP/3 in
    /// the running libcurl, and through proxies, the same as ``automatic``.
    case http3Preferred
    /// HTTP/3, or an error; the error has the kind ``TrellisError/Kind/unsupported`` if the running libcurl has no HTTP/3.
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

    /// The number of the version: `1.0`, `1.1`, `2` or `3`.
    public var description: String { rawValue }
}
