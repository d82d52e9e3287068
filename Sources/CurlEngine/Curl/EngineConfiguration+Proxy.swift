import CCurl

extension EngineConfiguration {
    /// An HTTP proxy through which all transfers go.
    package struct Proxy: Hashable, Sendable {
        /// The credentials for the proxy, without control characters.
        package struct Credentials: Hashable, Sendable {
            /// The user name.
            package let username: String
            /// The password.
            package let password: String
            /// Indicates whether the scheme is Digest; otherwise the scheme is Basic.
            package let isDigest: Bool

            /// Creates credentials.
            package init(username: String, password: String, isDigest: Bool) {
                self.username = username
                self.password = password
                self.isDigest = isDigest
            }
        }

        /// The host and the port, such as `proxy.example:3128`, for messages and for libcurl.
        package let name: String
        /// Indicates whether the host is an IP address, which needs no lookup.
        let isAddress: Bool
        /// The credentials for the proxy; `nil` if there are none.
        package let credentials: Credentials?

        /// Creates a proxy.
        ///
        /// - Parameter host: The host as in a URL, with IPv6 addresses in brackets.
        package init(host: String, port: UInt16, credentials: Credentials?) {
            name = "\(host):\(port)"
            isAddress = host.isAddress
            self.credentials = credentials
        }
    }
}

/// The outcome of a transfer's connection through its proxy.
struct ProxyOutcome {
    /// The status of the proxy's response to CONNECT; 0 if there was none.
    let connectStatus: Int
    /// Indicates whether a connection to the proxy was established.
    let isConnected: Bool

    /// Returns the failure of the proxy, if the proxy is the cause of a transfer's failure.
    ///
    /// Different versions of libcurl report a refused tunnel in different ways, so that its codes are only partly considered here.
    func failure(_ failure: EngineFailure, isSent: Bool, proxy: EngineConfiguration.Proxy) -> EngineFailure? {
        func because(_ failed: EngineFailure.Proxy) -> EngineFailure {
            failure.as(.proxy(name: proxy.name, failed))
        }
        if failure.code == Int(CURLE_COULDNT_RESOLVE_PROXY.rawValue) { return because(.nameResolution) }
        // The tunnel was established, so the server has failed, not the proxy.
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
