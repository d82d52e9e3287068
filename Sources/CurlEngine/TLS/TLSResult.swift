import CCurl

/// What a TLS handshake with a server has agreed on.
package struct TLSResult: Hashable, Sendable {
    /// The version of TLS, if the engine knows it.
    package let version: TransferTrust.Version?
    /// OpenSSL's name of the cipher suite, if known.
    package let cipherSuite: String?
    /// The protocol that ALPN (RFC 7301) has selected, if any.
    package let applicationProtocol: String?

    /// Creates a result.
    package init(version: TransferTrust.Version?, cipherSuite: String?, applicationProtocol: String?) {
        self.version = version
        self.cipherSuite = cipherSuite
        self.applicationProtocol = applicationProtocol
    }

    /// Reads the result of a session's handshake; `nil` without a session.
    init?(of session: OpaquePointer?) {
        guard let session = unsafe session.map(UnsafeMutableRawPointer.init) else { return nil }
        var length: UInt32 = 0
        let name = unsafe ccurl_tls_protocol(session, &length)
        version = unsafe TransferTrust.Version(number: ccurl_tls_version(session))
        cipherSuite = unsafe ccurl_tls_cipher(session).map { unsafe String(cString: $0) }
        applicationProtocol = unsafe name.map {
            unsafe String(decoding: UnsafeBufferPointer(start: $0, count: Int(length)), as: UTF8.self)
        }
    }
}

extension TransferTrust.Version {
    /// Creates the version with a number (RFC 8446, section 4.2.1); `nil` if the engine does not know it.
    init?(number: Int32) {
        switch number {
        case CCURL_TLS_1_2: self = .v1_2
        case CCURL_TLS_1_3: self = .v1_3
        default: return nil
        }
    }
}
