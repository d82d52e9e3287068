import HTTPTypes

extension TrellisError {
    /// Why there is no way through the session's proxy. The proxy is named by host and port, such as `proxy.example:3128`.
    public enum ProxyFailure: Sendable, Hashable {
        /// The name of the proxy could not be resolved.
        case nameResolution(proxy: String, why: String)
        /// The proxy refused the connection, or could not be reached.
        case unreachable(proxy: String, why: String)
        /// The proxy wants to know who asks (407; of some, such as tinyproxy, 401): there are no credentials for it in
        /// ``SessionConfiguration/proxy``, or not the ones that it accepts, or it wants another
        /// ``ProxyConfiguration/Authentication``.
        case unauthorized(proxy: String, status: Int, hasCredentials: Bool)
        /// The proxy made no tunnel to the server, and said so with another status than those.
        case refused(proxy: String, status: Int)
        /// The proxy did not answer the request for a tunnel, or not as a proxy does.
        case noTunnel(proxy: String, why: String)
    }
}

extension TrellisError.ProxyFailure: CustomStringConvertible {
    /// What went wrong, in words.
    public var description: String {
        switch self {
        case .nameResolution(let proxy, let why): "the name of the proxy \(proxy) could not be resolved: \(why)"
        case .unreachable(let proxy, let why): "no connection to the proxy \(proxy): \(why)"
        case .unauthorized(let proxy, let status, hasCredentials: false):
            "the proxy \(proxy) asks for credentials (\(status)), and the session has none for it"
        case .unauthorized(let proxy, let status, hasCredentials: true):
            "the proxy \(proxy) does not accept the session's credentials, or not in this way (\(status))"
        case .refused(let proxy, let status):
            "the proxy \(proxy) makes no tunnel to the server: \(status)"
                + (TrellisError.phrase(of: status).map { " (\($0))" } ?? "")
        case .noTunnel(let proxy, let why): "the proxy \(proxy) did not answer the request for a tunnel: \(why)"
        }
    }

    /// It may be better soon. Who may not pass now may not pass then.
    var isTransient: Bool {
        switch self {
        case .nameResolution, .unreachable, .noTunnel: true
        case .unauthorized: false
        // As the statuses of servers: RFC 9110, section 15.
        case .refused(_, let status): HTTPResponse.Status(code: status).isTransient
        }
    }
}
