import CCurl

/// The information that libcurl has about the current transfer and its connection.
extension EasyHandle {
    /// Whether it is certain that no byte of a request was passed to the system, in any attempt.
    var hasSentNothing: Bool {
        unsafe LibcurlFeatures.current.countsRequests && ccurl_get_long(curl, CURLINFO_REQUEST_SIZE) == 0
    }

    var statusCode: Int { Int(unsafe ccurl_get_long(curl, CURLINFO_RESPONSE_CODE)) }

    /// Whether the TLS handshake of the current connection selected a protocol with streams.
    var hasNegotiatedStreams: Bool { unsafe ccurl_tls_has_streams(curl) }

    /// Whether it is certain that the TLS handshake of the current connection selected a protocol without streams. Before 8.16,
    /// libcurl names no TLS session of an HTTP/3 connection.
    var hasCertainlyNoStreams: Bool { unsafe ccurl_tls_has_no_streams(curl) }

    /// Whether the current connection has TLS and its peer has not ended the TLS session.
    var isTLSOpen: Bool { unsafe ccurl_tls_is_open(curl) }

    /// Returns the socket of the transfer's connection; -1 if there is none. libcurl searches its pool for a socket that it has not named
    /// before.
    func findSocket() -> Int32 { unsafe socket >= 0 ? socket : ccurl_get_socket(curl, CURLINFO_ACTIVESOCKET) }

    /// Whether libcurl has an error text for the failure.
    var hasWords: Bool { unsafe errorBuffer[0] != 0 }

    /// libcurl's text for the failure; empty if it has none.
    var words: String { unsafe String(cString: errorBuffer) }

    /// Returns the failure of the current transfer for libcurl's result.
    func failure(_ code: CURLcode, isSent: Bool) -> EngineFailure {
        var detail = words
        if let route, route.hasOwnAddresses, let url = transfer?.options.url {
            detail = RouteNames(route).restoringHosts(in: detail, for: url)
        }
        var failure = EngineFailure(code, detail: detail)
        if failure.kind == .connect { failure = explained(failure) }
        if failure.kind == .source, let name = route?.parts.interface { failure = failure.from(name) }
        if let handshake {
            failure = handshake.explained(failure)
            if failure.isOfTLSPeer { return failure }
        }
        guard let proxy = route?.proxy else { return failure }
        let isConnectedBefore = transfer?.wire.tls != nil && route?.isConnectedByEngine == true
        let outcome = unsafe ProxyOutcome(
            connectStatus: ccurl_get_long(curl, CURLINFO_HTTP_CONNECTCODE),
            isConnected: isConnectedBefore || ccurl_get_offset(curl, CURLINFO_CONNECT_TIME_T) > 0,
            isSecured: proxy.scheme != .https && ccurl_get_offset(curl, CURLINFO_APPCONNECT_TIME_T) > 0,
            socksError: ccurl_get_long(curl, CURLINFO_PROXY_ERROR))
        return outcome.failure(failure, isSent: isSent, proxy: proxy) ?? failure
    }
}
