import CCurl

/// A private or public key in PEM, and its signatures, through the OpenSSL that libcurl has loaded, or the system's.
@safe
package final class AsymmetricKey: @unchecked Sendable {
    // Unchecked: OpenSSL's keys may be used on several threads, and nothing changes after `init`.
    private let handle: UnsafeMutableRawPointer
    /// The algorithm that the key is for.
    package let kind: Kind
    /// Whether the key can sign.
    package let isPrivate: Bool

    /// The algorithm that a key is for.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// RSA, for any padding (RFC 8017).
        case rsa = "RSA"
        /// RSA, for PSS alone (RFC 4055, section 1.2).
        case rsaPSS = "RSASSA-PSS"
        /// ECDSA on the curve P-256.
        case p256 = "P-256"
        /// ECDSA on the curve P-384.
        case p384 = "P-384"
        /// Ed25519 (RFC 8032).
        case ed25519 = "Ed25519"
    }

    /// The way to sign.
    package enum Scheme: Hashable, Sendable {
        /// Ed25519 (RFC 8032).
        case ed25519
        /// ECDSA with SHA-256. Signatures are in DER.
        case ecdsaSHA256
        /// ECDSA with SHA-384. Signatures are in DER.
        case ecdsaSHA384
        /// RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017, section 8.2).
        case rsaSHA256
        /// RSASSA-PSS with SHA-512, and a salt of 64 bytes (RFC 8017, section 8.1).
        case rsaPSSSHA512

        fileprivate var digest: String? {
            switch self {
            case .ed25519: nil
            case .ecdsaSHA256, .rsaSHA256: "SHA256"
            case .ecdsaSHA384: "SHA384"
            case .rsaPSSSHA512: "SHA512"
            }
        }
    }

    /// The reasons why a key cannot be used.
    package enum Failure: Error, Hashable, Sendable {
        /// The process has no OpenSSL.
        case noLibrary
        /// The text has no key.
        case noKey
        /// The key is encrypted.
        case encrypted
        /// The key is for another algorithm.
        case unknownKind
    }

    /// Reads the first key of a text.
    package init(pem: [UInt8]) throws(Failure) {
        guard ccurl_key_is_available() else { throw .noLibrary }
        var (isPrivate, isEncrypted) = (false, false)
        let handle = unsafe pem.withUnsafeBytes { bytes in
            unsafe bytes.baseAddress.flatMap { unsafe ccurl_key_read($0, bytes.count, &isPrivate, &isEncrypted) }
        }
        guard let handle = unsafe handle else { throw isEncrypted ? .encrypted : .noKey }
        guard let kind = unsafe Self.kind(of: handle) else {
            unsafe ccurl_key_free(handle)
            throw .unknownKind
        }
        unsafe self.handle = handle
        self.kind = kind
        self.isPrivate = isPrivate
    }

    deinit { unsafe ccurl_key_free(handle) }

    /// Returns the signature of some bytes; `nil` if the key is public, or does not go with the scheme.
    package func signature(of bytes: [UInt8], _ scheme: Scheme) -> [UInt8]? {
        guard isPrivate else { return nil }
        // An RSA key of 16,384 bits makes the longest signature, the largest that OpenSSL verifies.
        var signature = [UInt8](repeating: 0, count: 2048)
        let count = unsafe signature.withUnsafeMutableBufferPointer { signature in
            unsafe signature.baseAddress.map { result in
                unsafe bytes.withUnsafeBytes {
                    unsafe ccurl_key_sign(
                        handle, scheme.digest, scheme == .rsaPSSSHA512, $0.baseAddress, $0.count, result,
                        signature.count)
                }
            } ?? 0
        }
        return count == 0 ? nil : Array(signature.prefix(count))
    }

    /// Returns whether the key has signed some bytes.
    package func isSignature(_ signature: [UInt8], of bytes: [UInt8], _ scheme: Scheme) -> Bool {
        unsafe signature.withUnsafeBufferPointer { signature in
            unsafe signature.baseAddress.map { start in
                unsafe bytes.withUnsafeBytes {
                    unsafe ccurl_key_verify(
                        handle, scheme.digest, scheme == .rsaPSSSHA512, $0.baseAddress, $0.count, start, signature.count
                    )
                }
            } ?? false
        }
    }

    /// Returns what a key is for, by the algorithm in front of its public key (RFC 5280, section 4.1.2.7).
    private static func kind(of key: UnsafeMutableRawPointer) -> Kind? {
        var bytes = [UInt8](repeating: 0, count: 8192)
        let count = unsafe bytes.withUnsafeMutableBufferPointer { bytes in
            unsafe bytes.baseAddress.map { unsafe ccurl_key_public(key, $0, bytes.count) } ?? 0
        }
        guard count <= bytes.count else { return nil }
        let start = bytes.prefix(Swift.min(count, 32))
        return Kind.allCases.first { kind in
            start.indices.contains { start[$0...].starts(with: kind.identifier) }
        }
    }
}

extension AsymmetricKey.Kind {
    /// The object identifiers in DER: of the algorithm, with its end, and for a curve of both.
    fileprivate var identifier: [UInt8] {
        let ecdsa: [UInt8] = [0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
        return switch self {
        case .rsa: [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00]
        case .rsaPSS: [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0A]
        case .p256: ecdsa + [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
        case .p384: ecdsa + [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x22]
        case .ed25519: [0x06, 0x03, 0x2B, 0x65, 0x70]
        }
    }
}
