import CCurl

/// Certificates and keys in PEM and PKCS#12. Reading them can take long: use it off the engine thread.
package enum ClientCertificate {
    /// The reasons why a certificate and its key cannot be used.
    package enum Failure: Error, Hashable, Sendable {
        /// The source of the certificate has neither certificates in PEM nor PKCS#12.
        case noCertificate
        /// One of the certificates in PEM is malformed.
        case malformed
        /// The source of the key has none.
        case noKey
        /// A passphrase is needed.
        case encrypted
        /// The passphrase does not open the key.
        case wrongPassphrase
        /// The key does not belong to the certificate.
        case mismatch
        /// The key is encrypted with an algorithm that OpenSSL does not have.
        case unsupported
        /// libcurl uses another library than OpenSSL.
        case noLibrary
    }

    /// Returns a certificate, the certificates of its issuers and its key as PEM, without encryption.
    ///
    /// - Parameters:
    ///   - certificate: The certificates, in PEM or PKCS#12.
    ///   - key: The key in PEM; `nil` if it is with the certificates.
    package static func pem(
        _ certificate: [UInt8], key: [UInt8]?, passphrase: String?
    ) throws(Failure) -> [UInt8] {
        // A passphrase ends at its first NUL byte.
        if let passphrase, passphrase.utf8.contains(0) { throw .wrongPassphrase }
        var text: UnsafeMutablePointer<CChar>?
        var length = 0
        let code = unsafe certificate.withUnsafeBytes { certificate in
            guard let start = certificate.baseAddress else { return CCURL_IDENTITY_NO_CERTIFICATE }
            guard let key else {
                return unsafe ccurl_identity_read(start, certificate.count, nil, 0, passphrase, &text, &length)
            }
            return unsafe key.withUnsafeBytes { key in
                guard let keyStart = key.baseAddress else { return CCURL_IDENTITY_NO_KEY }
                return unsafe ccurl_identity_read(
                    start, certificate.count, keyStart, key.count, passphrase, &text, &length)
            }
        }
        defer { unsafe ccurl_identity_free(text, length) }
        switch code {
        case CCURL_IDENTITY_READ: break
        case CCURL_IDENTITY_NO_CERTIFICATE: throw .noCertificate
        case CCURL_IDENTITY_MALFORMED: throw .malformed
        case CCURL_IDENTITY_NO_KEY: throw .noKey
        case CCURL_IDENTITY_ENCRYPTED: throw .encrypted
        case CCURL_IDENTITY_WRONG_PASSPHRASE: throw .wrongPassphrase
        case CCURL_IDENTITY_MISMATCH: throw .mismatch
        case CCURL_IDENTITY_NO_LIBRARY: throw .noLibrary
        default: throw .unsupported
        }
        guard let text = unsafe text else { throw .unsupported }
        return unsafe [UInt8](UnsafeRawBufferPointer(start: text, count: length))
    }

    /// Returns the number of certificates in a PEM text; `nil` if one of them is malformed.
    package static func certificateCount(_ pem: [UInt8]) -> Int? { unsafe count(pem, ccurl_pem_certificates) }

    /// Returns the number of revocation lists in a PEM text; `nil` if one of them is malformed.
    package static func revocationListCount(_ pem: [UInt8]) -> Int? { unsafe count(pem, ccurl_pem_revocation_lists) }

    private static func count(_ pem: [UInt8], _ count: (UnsafeRawPointer, Int) -> Int32) -> Int? {
        let number = unsafe pem.withUnsafeBytes { bytes in
            unsafe bytes.baseAddress.map { unsafe count($0, bytes.count) } ?? 0
        }
        return number < 0 ? nil : Int(number)
    }
}
