import CCurl

/// The outcome of a transfer's connection through its proxy.
struct ProxyOutcome {
    /// The status of the proxy's response to CONNECT; 0 if there was none.
    let connectStatus: Int
    /// Whether a connection to the proxy was established.
    let isConnected: Bool
    /// Whether the TLS handshake with the server was complete.
    var isSecured = false
    /// libcurl's number for the failure of a SOCKS proxy (CURLPX_…); 0 if there is none.
    var socksError: Int = 0

    /// Returns the failure of the proxy, if the proxy is the cause of a transfer's failure.
    ///
    /// Different versions of libcurl report a refused tunnel in different ways, so that its codes are only partly considered here.
    func failure(_ failure: EngineFailure, isSent: Bool, proxy: EngineConfiguration.ProxyServer) -> EngineFailure? {
        let first = proxy.first ?? proxy
        if failure.code == Int(CURLE_COULDNT_RESOLVE_PROXY.rawValue) {
            return failure.as(.proxy(name: first.name, .nameResolution))
        }
        if first.scheme.isSOCKS {
            if failure.code == Int(CURLE_PROXY.rawValue) { return socksFailure(failure, of: first) }
            if failure.kind == .connect, !isConnected, !isSent {
                return failure.as(.proxy(name: first.name, .unreachable))
            }
            if proxy.scheme.isSOCKS { return nil }
        }
        return httpFailure(failure, isSent: isSent, proxy: proxy)
    }

    private func httpFailure(
        _ failure: EngineFailure, isSent: Bool, proxy: EngineConfiguration.ProxyServer
    ) -> EngineFailure? {
        func because(_ failed: EngineFailure.ProxyCause) -> EngineFailure {
            failure.as(.proxy(name: proxy.name, failed))
        }
        if connectStatus >= 300 {
            return because(.refused(status: connectStatus, hasCredentials: proxy.credentials != nil))
        }
        guard !isSent, !isSecured else { return nil }
        switch failure.kind {
        // After a status of success, the head may still be cut short. When it is complete, only the TLS handshake with the server can fail
        // before the request, and that has other kinds.
        case .connect where connectStatus == 0: return because(isConnected ? .noTunnel : .unreachable)
        case .connect, .send, .receive, .emptyReply, .malformedResponse, .tooLarge: return because(.noTunnel)
        default: return failure.code == Int(CURLE_PROXY.rawValue) ? because(.noTunnel) : nil
        }
    }

    /// Returns the failure for an error of the SOCKS protocol (RFC 1928, section 6).
    private func socksFailure(_ failure: EngineFailure, of proxy: EngineConfiguration.ProxyServer) -> EngineFailure {
        let code = CURLproxycode(rawValue: UInt32(clamping: socksError))
        // The name of the server, which is looked up here.
        if code == CURLPX_RESOLVE_HOST { return failure.as(.nameResolution) }
        let reason: EngineFailure.ProxyCause =
            switch code {
            case CURLPX_NO_AUTH, CURLPX_USER_REJECTED, CURLPX_IDENTD, CURLPX_IDENTD_DIFFER:
                .unauthorized(hasCredentials: proxy.credentials != nil)
            case CURLPX_REPLY_NOT_ALLOWED, CURLPX_REPLY_COMMAND_NOT_SUPPORTED, CURLPX_REPLY_ADDRESS_TYPE_NOT_SUPPORTED,
                CURLPX_LONG_HOSTNAME, CURLPX_BAD_ADDRESS_TYPE:
                .unreachableServer(mayBeTransient: false)
            case CURLPX_REPLY_CONNECTION_REFUSED, CURLPX_REPLY_GENERAL_SERVER_FAILURE, CURLPX_REPLY_HOST_UNREACHABLE,
                CURLPX_REPLY_NETWORK_UNREACHABLE, CURLPX_REPLY_TTL_EXPIRED, CURLPX_REPLY_UNASSIGNED,
                CURLPX_REQUEST_FAILED:
                .unreachableServer(mayBeTransient: true)
            default: .noTunnel
            }
        return failure.as(.proxy(name: proxy.name, reason))
    }
}
