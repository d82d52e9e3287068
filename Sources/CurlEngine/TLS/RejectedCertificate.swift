import CCurl
private import Glibc

/// A certificate that ended a TLS handshake.
package struct RejectedCertificate: Hashable, Sendable {
    /// The rules of a chain of certificates (RFC 5280, section 6; RFC 6125).
    package enum Rule: Hashable, Sendable {
        /// The certificate has expired.
        case expired
        /// The certificate is not valid yet.
        case notYetValid
        /// The certificate is not one for the host.
        case wrongHost
        /// The certificate is its own issuer, and is not trusted.
        case selfSigned
        /// The issuer of the certificate is neither trusted nor among the certificates that the peer sent.
        case unknownIssuer
        /// The root of the chain is not trusted.
        case unknownAuthority
        /// The certificate is for another use than servers, or its issuer may not issue certificates.
        case wrongPurpose
        /// The certificate was revoked.
        case revoked
        /// The revocation lists do not tell whether the certificate was revoked.
        case unknownRevocation
        /// The constraints of an issuer forbid the names of the certificate.
        case nameConstraint
        /// The key or the signature of the certificate is too weak.
        case weak
        /// The peer sent no stapled OCSP response, or one that is not valid.
        case stapledResponse
        /// Another rule.
        case other

        /// Creates the rule from OpenSSL's number of an error (`X509_V_ERR_…` in x509_vfy.h).
        init(verifyError: Int32) {
            self =
                switch verifyError {
                case 2, 20, 21: .unknownIssuer
                case 3, 8, 11, 12, 33, 35, 36, 44, 54: .unknownRevocation
                case 9: .notYetValid
                case 10: .expired
                case 18: .selfSigned
                case 19: .unknownAuthority
                case 23: .revoked
                case 24, 26, 32, 37, 79: .wrongPurpose
                case 47, 48, 49, 51, 52, 53: .nameConstraint
                case 62, 64: .wrongHost
                case 66, 67, 68: .weak
                default: .other
                }
        }
    }

    /// The rule that the certificate breaks.
    package var rule: Rule
    /// The position of the certificate in the chain: 0 for the peer's; `nil` if not known.
    package var depth: Int?
    /// The subject, as text; `nil` if not known.
    package var subject: String?
    /// The issuer, as text; `nil` if not known.
    package var issuer: String?
    /// The beginning of the validity, in seconds since 1970; `nil` if not known.
    package var notBefore: Int64?
    /// The end of the validity, in seconds since 1970; `nil` if not known.
    package var notAfter: Int64?
    /// The names and addresses of the certificate, if it is the peer's.
    package var names: [String] = []
    /// The certificates that the peer has sent, encoded as DER and its own first; empty if not known.
    package var sent: [[UInt8]] = []
    /// The host that the certificate should be for.
    package var host: String
    /// The peer that sent the certificate.
    package var peer: TLSPeer
    /// The rule in OpenSSL's words.
    package var text: String

    /// Creates a certificate when nothing but the rule is known.
    package init(_ rule: Rule, host: String, peer: TLSPeer = .server, text: String) {
        self.rule = rule
        self.host = host
        self.peer = peer
        self.text = text
    }

    /// Creates the certificate of a server whose stapled OCSP response is missing or not valid, with libcurl's words.
    init(badStaple text: String) {
        self.init(text.lowercasedASCII().containsBytes("revo") ? .revoked : .stapledResponse, host: "", text: text)
        depth = 0
    }

    init(_ facts: ccurl_tls_facts, host: String, peer: TLSPeer) {
        let error = unsafe facts.verify_error
        let words = unsafe ccurl_tls_verify_text(error).map { unsafe String(cString: $0) }
        self.init(Rule(verifyError: error), host: host, peer: peer, text: words ?? "error \(error)")
        depth = unsafe Int(facts.depth)
        subject = unsafe facts.subject.map { unsafe String(cString: $0) }
        issuer = unsafe facts.issuer.map { unsafe String(cString: $0) }
        notBefore = unsafe facts.not_before == .min ? nil : facts.not_before
        notAfter = unsafe facts.not_after == .min ? nil : facts.not_after
        names = unsafe facts.names.map { unsafe Self.names(String(cString: $0)) } ?? []
        if let bytes = unsafe facts.sent {
            sent = unsafe Self.elements(UnsafeBufferPointer(start: bytes, count: facts.sent_length))
        }
    }

    /// Returns the elements of a sequence of DER (X.690, section 8.1), each with its head.
    static func elements(_ bytes: some Collection<UInt8>) -> [[UInt8]] {
        var (elements, rest) = ([[UInt8]](), ArraySlice(bytes))
        while rest.count > 1 {
            let head = rest.prefix(6)
            let first = Int(head[head.startIndex + 1])
            let lengthCount = first < 0x80 ? 0 : first & 0x7f
            guard lengthCount <= 4, rest.count > 1 + lengthCount else { break }
            let digits = rest.dropFirst(2).prefix(lengthCount)
            let length = lengthCount == 0 ? first : digits.reduce(0) { $0 << 8 | Int($1) }
            guard rest.count >= 2 + lengthCount + length else { break }
            elements.append(Array(rest.prefix(2 + lengthCount + length)))
            rest = rest.dropFirst(2 + lengthCount + length)
        }
        return elements
    }

    /// Returns the names of a list with commas, with addresses in their usual form.
    static func names(_ list: String) -> [String] {
        list.split(atByte: ",").map { entry in
            guard entry.hasBytePrefix("#") else { return String(entry) }
            let digits = Array(entry.utf8.dropFirst())
            let bytes = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
                UInt8(String(decoding: digits[$0...$0 + 1], as: UTF8.self), radix: 16)
            }
            return IPAddress(bytes: bytes)?.description ?? String(entry)
        }
    }
}
