import CurlEngine

/// What a TLS handshake with a server has agreed on.
public struct NegotiatedTLS: Sendable, Hashable {
    /// The version of TLS, if it is one that ``TLSVersion`` knows.
    public let version: TLSVersion?
    /// The name of the cipher suite as OpenSSL has it, such as `TLS_AES_256_GCM_SHA384`, if known.
    public let cipherSuite: String?
    /// The protocol that the server has selected (ALPN; RFC 7301), such as `h2` or `http/1.1`; `nil` if it has selected none.
    public let applicationProtocol: String?

    init(_ result: TLSResult) {
        version =
            switch result.version {
            case nil: nil
            case .v1_2: .v1_2
            case .v1_3: .v1_3
            }
        cipherSuite = result.cipherSuite
        applicationProtocol = result.applicationProtocol
    }
}

extension NegotiatedTLS: CustomStringConvertible {
    /// The known facts: `TLS 1.3, TLS_AES_256_GCM_SHA384, h2`.
    public var description: String {
        [version.map { "TLS \($0.rawValue)" } ?? "TLS", cipherSuite, applicationProtocol].compactMap { $0 }
            .joined(separator: ", ")
    }
}
