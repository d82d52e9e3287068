import CurlEngine
public import FoundationEssentials

/// The pin of a public key: the SHA-256 digest of the key as certificates contain it (`SubjectPublicKeyInfo`; RFC 7469, section 2.4).
///
/// The pin of a certificate is ``Certificate/publicKeyPin``. The tool prints a server's with `trellis --show-certificates URL`, and
/// an error about a wrong pin lists the right ones. OpenSSL computes the digest of a file with
///
/// ```
/// openssl x509 -in certificate.pem -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64
/// ```
///
/// A certificate that is renewed with the same key has the same pin.
public struct PublicKeyPin: Sendable, Hashable {
    /// The SHA-256 digest: 32 bytes.
    public let digest: Data

    private static let length = 32

    /// Creates a pin from its text: `sha256/` or, as curl has it, `sha256//`, and the digest in Base64.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` if the text is not a pin.
    public init(_ text: String) throws(TrellisError) {
        guard text.hasBytePrefix("sha256/") else {
            throw TrellisError(
                .invalidRequest(.trustEvaluator("\"\(text)\" is not a pin: it does not begin with sha256/")))
        }
        var base64 = text.utf8.dropFirst("sha256/".utf8.count)
        // A slash is also a digit of Base64: only a text with one byte too many begins with curl's second slash.
        if base64.count == (Self.length + 2) / 3 * 4 + 1, base64.first == UInt8(ascii: "/") {
            base64 = base64.dropFirst()
        }
        guard let digest = Data(base64Encoded: Data(base64)), digest.count == Self.length,
            digest.base64EncodedString().utf8.elementsEqual(base64)
        else {
            throw TrellisError(
                .invalidRequest(.trustEvaluator("\"\(text)\" is not a pin: it does not have 32 bytes in Base64")))
        }
        self.digest = digest
    }

    /// Creates the pin of an encoded public key.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/unsupported`` if the process has no SHA-256 function.
    init(ofKey key: ArraySlice<UInt8>) throws(TrellisError) { digest = try SHA256Digest.bytes(of: key) }
}

extension PublicKeyPin: CustomStringConvertible {
    /// The text with one slash, such as `sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=`.
    public var description: String { "sha256/" + digest.base64EncodedString() }
}

/// A value that names the pin of a public key: a ``PublicKeyPin``, its text, or a ``Certificate`` with the key.
public protocol PublicKeyPinConvertible: Sendable {
    /// Returns the pin.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` if the value names no pin.
    func asPublicKeyPin() throws(TrellisError) -> PublicKeyPin
}

extension PublicKeyPin: PublicKeyPinConvertible {
    /// Returns the pin itself.
    public func asPublicKeyPin() -> PublicKeyPin { self }
}

extension String: PublicKeyPinConvertible {
    /// Returns the pin with this text: ``PublicKeyPin/init(_:)``.
    ///
    /// - Throws: ``TrellisError`` if the text is no pin.
    public func asPublicKeyPin() throws(TrellisError) -> PublicKeyPin { try PublicKeyPin(self) }
}

extension Certificate: PublicKeyPinConvertible {
    /// Returns the pin of the certificate's key: ``publicKeyPin``.
    public func asPublicKeyPin() -> PublicKeyPin { publicKeyPin }
}

/// The SHA-256 digest of bytes.
package enum SHA256Digest {
    /// Returns the 32 bytes of the digest.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/unsupported`` if the process has no such function.
    package static func bytes(of bytes: ArraySlice<UInt8>) throws(TrellisError) -> Data {
        guard let digest = MessageDigest(.sha256) else { throw TrellisError(.unsupported("SHA-256")) }
        digest.update(Array(bytes))
        guard let result = digest.finishBytes() else { throw TrellisError(.unsupported("SHA-256")) }
        return Data(result)
    }
}
