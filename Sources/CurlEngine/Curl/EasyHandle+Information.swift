import CCurl

/// The information that libcurl has about the current transfer and its connection.
extension EasyHandle {
    /// Indicates whether it is certain that no byte of a request was passed to the system, in any attempt.
    var hasSentNothing: Bool {
        unsafe LibcurlFeatures.current.countsRequests && ccurl_get_long(curl, CURLINFO_REQUEST_SIZE) == 0
    }

    var statusCode: Int { Int(unsafe ccurl_get_long(curl, CURLINFO_RESPONSE_CODE)) }

    /// Indicates whether the TLS handshake of the current connection selected a protocol with streams.
    var hasNegotiatedStreams: Bool { unsafe ccurl_tls_has_streams(curl) }

    /// Indicates whether the current connection has TLS and its peer has not ended the TLS session.
    var isTLSOpen: Bool { unsafe ccurl_tls_is_open(curl) }

    /// Returns the socket of the transfer's connection; -1 if there is none. libcurl searches its pool for a socket that it has not named
    /// before.
    func findSocket() -> Int32 { unsafe socket >= 0 ? socket : ccurl_get_socket(curl, CURLINFO_ACTIVESOCKET) }

    /// Indicates whether libcurl has an error text for the failure.
    var hasWords: Bool { unsafe errorBuffer[0] != 0 }
}
