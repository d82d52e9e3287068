public import FoundationEssentials

extension TrellisError {
    /// The reason why a trusted TLS connection could not be established.
    public enum SecurityFailure: Sendable, Hashable {
        /// The handshake failed, or the peer does not use TLS.
        case handshake(String)
        /// The peer supports none of the versions of TLS that ``TLSConfiguration`` allows.
        case version(String)
        /// The certificate of the server or of the HTTPS proxy is not trusted.
        case untrusted(UntrustedCertificate)
        /// The client certificate is missing, cannot be used or was refused.
        case clientIdentity(ClientIdentityFailure)
        /// Certificate authorities or revocation lists cannot be read.
        case certificateAuthorityFile(String)
        /// The file for the secrets of connections (``TLSConfiguration/keyLogFile``) cannot be written.
        case keyLogFile(path: String, reason: String)
        /// The server is trusted by the handshake, and has none of the pins of an evaluator.
        case pinMismatch(PinMismatch)
        /// The server is trusted by the handshake, and not by the evaluator of its host.
        case serverTrustEvaluationFailed(ServerTrustFailure)
    }

    /// The reason why the client certificate (``ClientIdentity``) is missing, cannot be used or was refused.
    public enum ClientIdentityFailure: Sendable, Hashable {
        /// The server requires a certificate, and the session has none for it.
        case required
        /// The server does not accept the certificate; the text is the server's alert (RFC 8446, section 6.2).
        case refused(String)
        /// The HTTPS proxy requires a certificate, and the session has none for it: a proxy only gets one of
        /// ``SessionConfiguration/tlsForHosts``.
        case requiredByProxy
        /// The HTTPS proxy does not accept the certificate; the text is the proxy's alert.
        case refusedByProxy(String)
        /// A file of the certificate or of the key cannot be read.
        case file(path: String, reason: String)
        /// The source contains neither certificates in PEM nor PKCS#12.
        case noCertificate(String)
        /// The source contains no key.
        case noKey(String)
        /// The key is encrypted, and there is no passphrase, or it could not be obtained because of ``TrellisError/underlying``.
        case noPassphrase(String)
        /// The passphrase does not belong to the key.
        case wrongPassphrase(String)
        /// The key does not belong to the certificate, in one source or in two.
        case mismatch(key: String, certificate: String)
        /// The certificate or its key cannot be used, for example because it is too weak.
        case unusable(String)
    }
}

/// The certificate that makes a server or an HTTPS proxy untrusted.
public struct UntrustedCertificate: Sendable, Hashable {
    /// The rules of certificates (RFC 5280, section 6; RFC 9110, section 4.3.4).
    public enum Rule: Sendable, Hashable {
        /// The certificate was valid until this instant; `nil` if not known.
        case expired(since: Date?)
        /// The certificate is valid from this instant on; `nil` if not known.
        case notYetValid(until: Date?)
        /// The certificate is for other names and addresses than the host. Without any, it has no subject alternative name, perhaps only a
        /// common name.
        case wrongHost(String, names: [String])
        /// The certificate is its own issuer, and is not trusted itself.
        case selfSigned
        /// The issuer of the certificate is neither trusted nor among the certificates that the peer sent: an intermediate certificate may
        /// be missing.
        case unknownIssuer
        /// The root of the chain is not one of the trusted authorities.
        case unknownAuthority
        /// The certificate is not for servers, or its owner may not issue certificates.
        case wrongPurpose
        /// The certificate was revoked by its issuer.
        case revoked
        /// No valid revocation list covers the certificate.
        case unknownRevocation
        /// The authority of an issuer is limited to other names (RFC 5280, section 4.2.1.10).
        case nameConstraint
        /// The key or the signature of the certificate is too weak for OpenSSL's security level.
        case weak
        /// The server sent no stapled OCSP response, or one that is not valid (``TLSConfiguration/requiresStapledResponse``).
        case stapledResponse
        /// Another rule, which ``UntrustedCertificate/text`` describes.
        case other
    }

    /// The rule that the certificate breaks.
    public let rule: Rule
    /// The position of the certificate in its chain: 0 for the peer's, 1 for its issuer's; `nil` if not known.
    public let depth: Int?
    /// The subject, such as `CN=example.com, O=Example`; `nil` if not known.
    public let subject: String?
    /// The issuer; `nil` if not known.
    public let issuer: String?
    /// Whether the peer is the proxy, and not the server.
    public let isOfProxy: Bool
    /// The rule in the words of libcurl or OpenSSL.
    public let text: String

    /// Creates a certificate.
    package init(
        _ rule: Rule, depth: Int? = nil, subject: String? = nil, issuer: String? = nil, isOfProxy: Bool = false,
        text: String = ""
    ) {
        self.rule = rule
        self.depth = depth
        self.subject = subject
        self.issuer = issuer
        self.isOfProxy = isOfProxy
        self.text = text
    }
}

extension UntrustedCertificate: CustomStringConvertible {
    /// The rule and the certificate in words.
    public var description: String {
        guard let subject else { return words }
        let owner = depth == 0 ? "" : depth.map { " \($0) above \(isOfProxy ? "the proxy's" : "the server's")" } ?? ""
        return "\(words) (certificate\(owner): \(subject); issuer: \(issuer ?? "unknown"))"
    }

    private var words: String {
        switch rule {
        case .expired(let since?): "it expired on \(since.formatted(.iso8601))"
        case .notYetValid(let until?): "it is not valid before \(until.formatted(.iso8601))"
        case .wrongHost(let host, names: []): "it is not for \(host): it has no subject alternative name"
        case .wrongHost(let host, let names): "it is not for \(host), but for \(Self.list(names))"
        case .selfSigned: "it is self-signed, and is not one of the trusted ones"
        case .unknownIssuer: "its issuer is not trusted, and an intermediate certificate may be missing"
        case .unknownAuthority: "the root of its chain is not one of the trusted authorities"
        case .wrongPurpose: "it is not for this purpose: \(text)"
        case .revoked: "it was revoked"
        case .unknownRevocation: "no valid revocation list covers it: \(text)"
        case .nameConstraint: "its issuer may not issue certificates for this name: \(text)"
        case .weak: "its key or signature is too weak: \(text)"
        case .stapledResponse: "the stapled OCSP response is missing or not valid: \(text)"
        case .expired(nil), .notYetValid(nil), .other: text
        }
    }

    /// Returns the first names of a list.
    private static func list(_ names: [String]) -> String {
        names.prefix(5).joined(separator: ", ") + (names.count > 5 ? " and \(names.count - 5) more" : "")
    }
}

extension TrellisError.SecurityFailure: CustomStringConvertible {
    /// The failure in words.
    public var description: String {
        switch self {
        case .handshake(let reason): "the TLS handshake failed: \(reason)"
        case .version(let reason): "no version of TLS is allowed by both sides: \(reason)"
        case .untrusted(let certificate):
            "the \(certificate.isOfProxy ? "proxy" : "server")'s certificate is not trusted: \(certificate)"
        case .clientIdentity(let failure): failure.description
        case .certificateAuthorityFile(let reason):
            "the certificate authorities or revocation lists cannot be read: \(reason)"
        case .keyLogFile(let path, let reason): "the key log \(path) cannot be written: \(reason)"
        case .pinMismatch(let mismatch): "the server is not trusted: \(mismatch)"
        case .serverTrustEvaluationFailed(let failure): "the server is not trusted: \(failure)"
        }
    }
}

extension TrellisError.ClientIdentityFailure: CustomStringConvertible {
    /// The failure in words.
    public var description: String {
        switch self {
        case .required: "the server requires a client certificate, and there is none for it"
        case .refused(let reason): "the server does not accept the client certificate: \(reason)"
        case .requiredByProxy: "the proxy requires a client certificate, and there is none for it"
        case .refusedByProxy(let reason): "the proxy does not accept the client certificate: \(reason)"
        case .file(let path, let reason): "the file \(path) of the client certificate cannot be read: \(reason)"
        case .noCertificate(let name): "\(name) contains neither a client certificate in PEM nor PKCS#12"
        case .noKey(let name): "\(name) contains no key of the client certificate"
        case .noPassphrase(let name):
            "the key of the client certificate in \(name) is encrypted, and there is no passphrase"
        case .wrongPassphrase(let name): "the passphrase for \(name) is wrong"
        case .mismatch(let key, let certificate):
            "the key in \(key) is not that of the client certificate in \(certificate)"
        case .unusable(let reason): "the client certificate cannot be used: \(reason)"
        }
    }

    /// Whether the files are the reason.
    var isOfFile: Bool {
        switch self {
        case .file, .noCertificate, .noKey: true
        default: false
        }
    }
}
