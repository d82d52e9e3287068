import CurlEngine
public import TrellisCore

/// A key that makes or checks signatures: a shared secret, or a private or public key in PEM.
///
/// ```swift
/// let key = try SignatureKey.pem(String(contentsOfFile: "client.pem", encoding: .utf8), id: "client-2026")
/// let secret = SignatureKey.hmac(Data(base64Encoded: text) ?? Data(), id: "shared")
/// ```
///
/// Asymmetric keys need the OpenSSL that libcurl has loaded, or the system's; secrets need it for SHA-256 alone.
public struct SignatureKey: RedactedDescription, Sendable {
    /// The name under which the other side knows the key (`keyid`), if it needs one.
    public let id: String?
    /// The algorithm of the signatures.
    public let algorithm: SignatureAlgorithm
    private let contents: Contents

    private enum Contents: Sendable {
        case secret([UInt8])
        case asymmetric(AsymmetricKey, AsymmetricKey.Scheme)
    }

    private init(_ contents: Contents, id: String?, algorithm: SignatureAlgorithm) {
        (self.id, self.algorithm, self.contents) = (id, algorithm, contents)
    }

    /// Returns a shared secret, for ``SignatureAlgorithm/hmacSHA256``.
    ///
    /// - Parameters:
    ///   - secret: The bytes. With none, nothing is signed and no signature is valid.
    ///   - id: The name under which the other side knows the secret.
    public static func hmac(_ secret: some Sequence<UInt8>, id: String? = nil) -> SignatureKey {
        SignatureKey(.secret(Array(secret)), id: id, algorithm: .hmacSHA256)
    }

    /// Reads the first key of a text: a private key (PKCS#8, PKCS#1, SEC 1), which signs and checks, or a public key, which checks.
    ///
    /// - Parameters:
    ///   - text: The key in PEM, without a passphrase.
    ///   - id: The name under which the other side knows the key.
    ///   - algorithm: The algorithm; by default the one of the key, and ``SignatureAlgorithm/rsaPSSSHA512`` for RSA.
    /// - Throws: ``/Trellis/TrellisError`` of kind ``/Trellis/TrellisError/Kind/invalidRequest`` if the text has no such key; of kind
    ///   ``/Trellis/TrellisError/Kind/unsupported`` without OpenSSL, or for a key of another algorithm.
    public static func pem(
        _ text: String, id: String? = nil, algorithm: SignatureAlgorithm? = nil
    ) throws(TrellisError) -> SignatureKey {
        let key: AsymmetricKey
        do throws(AsymmetricKey.Failure) {
            key = try AsymmetricKey(pem: Array(text.utf8))
        } catch {
            throw TrellisError(Self.reason(of: error))
        }
        let algorithm = algorithm ?? SignatureAlgorithm(for: key.kind)
        guard let scheme = algorithm.scheme(for: key.kind) else {
            throw .unsigned("a key for \(key.kind.rawValue) makes no signatures with \(algorithm.rawValue)")
        }
        return SignatureKey(.asymmetric(key, scheme), id: id, algorithm: algorithm)
    }

    private static func reason(of failure: AsymmetricKey.Failure) -> TrellisError.Reason {
        switch failure {
        case .noLibrary: .unsupported("asymmetric keys without OpenSSL")
        case .noKey: .invalidRequest(.signature("the text has no private or public key in PEM"))
        case .encrypted: .invalidRequest(.signature("the key is encrypted; decrypt it, for example with openssl pkey"))
        case .unknownKind: .unsupported("keys other than RSA, P-256, P-384 and Ed25519")
        }
    }

    /// Whether the key can sign.
    public var canSign: Bool {
        switch contents {
        case .secret(let secret): !secret.isEmpty
        case .asymmetric(let key, _): key.isPrivate
        }
    }

    /// Returns the signature of some bytes.
    func signature(of bytes: [UInt8]) throws(TrellisError) -> [UInt8] {
        guard canSign else { throw .unsigned("the key is public or empty, and cannot sign") }
        switch contents {
        case .secret(let secret):
            guard let code = MessageAuthenticationCode.code(bytes, key: secret, .sha256) else {
                throw TrellisError(.unsupported("SHA-256 without OpenSSL"))
            }
            return code
        case .asymmetric(let key, let scheme):
            let signature = key.signature(of: bytes, scheme).flatMap { signature in
                guard let length = algorithm.coordinateLength else { return signature }
                return ECDSASignature(der: signature)?.fixed(length)
            }
            guard let signature else { throw .unsigned("OpenSSL refuses to sign with the key") }
            return signature
        }
    }

    /// Returns whether the key has signed some bytes.
    func isSignature(_ signature: [UInt8], of bytes: [UInt8]) -> Bool {
        switch contents {
        case .secret(let secret):
            guard canSign, let code = MessageAuthenticationCode.code(bytes, key: secret, .sha256) else { return false }
            return MessageAuthenticationCode.areEqual(code, signature)
        case .asymmetric(let key, let scheme):
            guard let length = algorithm.coordinateLength else { return key.isSignature(signature, of: bytes, scheme) }
            return ECDSASignature(fixed: signature, length).map { key.isSignature($0.der, of: bytes, scheme) } ?? false
        }
    }
}

extension TrellisError {
    /// Returns the error of a request that cannot be signed.
    static func unsigned(_ reason: String) -> TrellisError { TrellisError(.invalidRequest(.signature(reason))) }
}
