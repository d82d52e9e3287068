import CCurl

extension EngineConfiguration {
    /// An HTTP proxy that all transfers go through.
    package struct Proxy: Hashable, Sendable {
        /// Who asks. Without control characters.
        package struct Credentials: Hashable, Sendable {
            package let username: String
            package let password: String
            package let isDigest: Bool

            package init(username: String, password: String, isDigest: Bool) {
                self.username = username
                self.password = password
                self.isDigest = isDigest
            }
        }

        /// Host and port, such as `proxy.example:3128`, for people and for libcurl.
        package let name: String
        package let credentials: Credentials?

        /// - Parameter host: As in a URL, IPv6 addresses in brackets.
        package init(host: String, port: UInt16, credentials: Credentials?) {
            name = "\(host):\(port)"
            self.credentials = credentials
        }
    }
}

/// What became of a transfer's way through its proxy.
struct ProxyOutcome {
    /// The status with which the proxy answered CONNECT, or 0.
    let connectStatus: Int
    /// A connection to the proxy came about.
    let isConnected: Bool

    /// Why a transfer failed, if the proxy is why.
    ///
    /// What libcurl says about a refused tunnel differs from version to version, and so its codes count for little here.
    func failure(_ failure: EngineFailure, isSent: Bool, proxy: EngineConfiguration.Proxy) -> EngineFailure? {
        func because(_ failed: EngineFailure.Proxy) -> EngineFailure {
            failure.as(.proxy(name: proxy.name, failed))
        }
        if failure.code == Int(CURLE_COULDNT_RESOLVE_PROXY.rawValue) { return because(.nameResolution) }
        // With the tunnel there, it is the server that failed.
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
