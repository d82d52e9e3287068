import CurlEngine

extension Request {
    /// Returns the HTTP versions of the request's transfer. A connection that switches protocols is one of HTTP/1.1 (RFC 9113, section
    /// 8.6), unless the request itself demands HTTP/2 (RFC 8441). libcurl, which speaks HTTP/3, sends no trailers.
    ///
    /// - Parameter policy: The policy of the session, for a request without its own.
    func versions(
        to url: WireURL, by policy: HTTPVersionPolicy, delivery: Delivery, isAlternative: Bool
    ) throws(TrellisError) -> TransferOptions.Version {
        if isAlternative { return .http3Only }
        if delivery == .connection { return try versionOfConnection.versions(to: url) }
        let policy = httpVersion ?? policy
        guard trailers != nil, body != nil else { return try policy.versions(to: url) }
        switch policy {
        case .automatic, .http1Only, .http2, .http2PriorKnowledge: return try policy.versions(to: url)
        case .http3Preferred: return .http2OverTLS
        case .http3Only: throw TrellisError(.unsupported("trailers of a request over HTTP/3"))
        }
    }

    /// The versions for a connection that switches protocols.
    var versionOfConnection: HTTPVersionPolicy {
        switch httpVersion {
        case .http2, .http2PriorKnowledge: httpVersion ?? .http1Only
        default: .http1Only
        }
    }
}

extension HTTPVersionPolicy {
    /// Returns the HTTP versions that the policy allows for a URL.
    func versions(to url: WireURL) throws(TrellisError) -> TransferOptions.Version {
        switch self {
        case .automatic: return .http2OverTLS
        case .http1Only: return .http1
        case .http2:
            guard url.isSecure else {
                throw TrellisError(.unsupported("HTTP/2 without TLS, except with prior knowledge"))
            }
            return .http2Only
        case .http2PriorKnowledge: return .http2PriorKnowledge
        case .http3Preferred: return url.isSecure ? .http3WithFallback : .http2OverTLS
        case .http3Only:
            guard LibcurlFeatures.current.hasHTTP3 else { throw TrellisError(.unsupported("HTTP/3")) }
            guard url.isSecure else { throw TrellisError(.unsupported("HTTP/3 without TLS")) }
            return .http3Only
        }
    }
}
