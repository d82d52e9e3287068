import HTTPTypes

extension TrellisError {
    /// The reason why a request cannot pass its proxy. The proxy is named by host and port, such as `proxy.example:3128`,
    /// or by the path of its socket.
    public enum ProxyFailure: Sendable, Hashable {
        /// The name of the proxy could not be resolved.
        case nameResolution(proxy: String, reason: String)
        /// The proxy refused the connection, or could not be reached.
        case unreachable(proxy: String, reason: String)
        /// The proxy requires authentication (407; from some proxies, such as tinyproxy, 401): the ``Proxy`` has no
        /// credentials, or ones that the proxy does not accept, or the proxy wants another ``Proxy/Authentication``.
        case unauthorized(proxy: String, status: Int, hasCredentials: Bool)
        /// The proxy opened no tunnel to the server, and sent a status other than 401 and 407.
        case refused(proxy: String, status: Int)
        /// The SOCKS proxy asks for credentials, or does not accept those that it got.
        case socksUnauthorized(proxy: String, hasCredentials: Bool)
        /// The SOCKS proxy reports that it makes no connection to the server (RFC 1928, section 6).
        case socksRefused(proxy: String, reason: String, mayBeTransient: Bool)
        /// The proxy sent no response to the request for a tunnel, or one that is not a proxy's.
        case noTunnel(proxy: String, reason: String)
        /// The ``PACScript`` could not be fetched or read, has an error, or did not return in time.
        case script(String, mayBeTransient: Bool)
    }
}

extension TrellisError.ProxyFailure: CustomStringConvertible {
    /// The failure in words.
    public var description: String {
        switch self {
        case .nameResolution(let proxy, let reason): "the name of the proxy \(proxy) could not be resolved: \(reason)"
        case .unreachable(let proxy, let reason): "no connection to the proxy \(proxy): \(reason)"
        case .unauthorized(let proxy, let status, hasCredentials: false):
            "the proxy \(proxy) asks for credentials (\(status)), and the session has none for it"
        case .unauthorized(let proxy, let status, hasCredentials: true):
            "the proxy \(proxy) does not accept the session's credentials, or not in this way (\(status))"
        case .refused(let proxy, let status):
            "the proxy \(proxy) makes no tunnel to the server: \(status)"
                + (TrellisError.phrase(of: status).map { " (\($0))" } ?? "")
        case .socksUnauthorized(let proxy, hasCredentials: false):
            "the proxy \(proxy) asks for credentials, and the session has none for it"
        case .socksUnauthorized(let proxy, hasCredentials: true): "the proxy \(proxy) does not accept the credentials"
        case .socksRefused(let proxy, let reason, _): "the proxy \(proxy) makes no connection to the server: \(reason)"
        case .noTunnel(let proxy, let reason): "the proxy \(proxy) did not answer the request for a tunnel: \(reason)"
        case .script(let reason, _): "the PAC script names no proxies: \(reason)"
        }
    }

    /// Whether the failure may be temporary. A client that is not authorized now is not expected to be authorized later.
    var isTransient: Bool {
        switch self {
        case .nameResolution, .unreachable, .noTunnel: true
        case .unauthorized, .socksUnauthorized: false
        case .socksRefused(_, _, let mayBeTransient), .script(_, let mayBeTransient): mayBeTransient
        // The statuses mean what they mean for servers: RFC 9110, section 15.
        case .refused(_, let status): HTTPResponse.Status(code: status).isTransient
        }
    }
}
