import CCurl

extension EngineConfiguration {
    /// An HTTP proxy that all transfers go through.
    package struct Proxy: Hashable, Sendable {
        /// The credentials for the proxy, without control characters.
        package struct Credentials: Hashable, Sendable {
            package let username: String
            package let password: String
            /// Indicates whether the scheme is Digest; otherwise the scheme is Basic.
            package let isDigest: Bool

            package init(username: String, password: String, isDigest: Bool) {
                self.username = username
                self.password = password
                self.isDigest = isDigest
            }
        }

        /// The host and port, such as `proxy.example:3128`, for messages and for libcurl.
        package let name: String
        package let credentials: Credentials?

        /// Creates a proxy.
        ///
        /// - Parameter host: The host as in a URL, IPv6 addresses in brackets.
        package init(host: String, port: UInt16, credentials: Credentials?) {
            name = "\(host):\(port)"
            self.credentials = credentials
        }
    }
}

/// The state of a transfer's way through its proxy.
struct ProxyOutcome {
    /// The status of the proxy's response to CONNECT, or 0.
    let connectStatus: Int
    /// Indicates whether a connection to the proxy was established.
    let isConnected: Bool

    /// Returns the failure of the proxy, if the proxy is the cause of a transfer's failure.
    ///
    /// libcurl reports a refused tunnel differently from version to version, and so its codes count for little here.
    func failure(_ failure: EngineFailure, isSent: Bool, proxy: EngineConfiguration.Proxy) -> EngineFailure? {
        func because(_ failed: EngineFailure.Proxy) -> EngineFailure {
            failure.as(.proxy(name: proxy.name, failed))
        }
        if failure.code == Int(CURLE_COULDNT_RESOLVE_PROXY.rawValue) { return because(.nameResolution) }
        // With an established tunnel, the server has failed and not the proxy.
        guard !(200..<300).contains(connectStatus) else { return nil }
        if connectStatus >= 300 {
            return because(.refused(status: connectStatus, hasCredentials: proxy.credentials != nil))
        }
        guard !isSent else { return nil }
        switch failure.kind {
        case .connect: return because(isConnected ? .noTunnel : .unreachable)
        case .send, .receive, .emptyReply, .malformedResponse: return because(.noTunnel)
        default: return failure.code == Int(CURLE_PROXY.rawValue) ? because(.noTunnel) : nil
        }
    }
}
