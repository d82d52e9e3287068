private import CCurl
package import FoundationEssentials

/// The cipher AES-256-GCM (NIST SP 800-38D), by the OpenSSL that libcurl has loaded, or by the system's. A message that was changed is not
/// decrypted.
package struct AuthenticatedCipher: Sendable {
    /// The number of bytes of a key.
    package static var keySize: Int { Int(CCURL_CIPHER_KEY) }
    private static var nonceSize: Int { Int(CCURL_CIPHER_NONCE) }
    private static var tagSize: Int { Int(CCURL_CIPHER_TAG) }

    private let key: [UInt8]

    /// Creates the cipher with a key; `nil` if the key has another size than ``keySize``.
    package init?(key: [UInt8]) {
        guard key.count == Self.keySize else { return nil }
        self.key = key
    }

    /// Returns a fresh nonce, bytes that are encrypted with it, and their tag; `nil` without the library.
    ///
    /// The nonces are random: one key should encrypt at most 2³² messages (NIST SP 800-38D, section 8.3).
    ///
    /// - Parameter context: Bytes without which the message cannot be decrypted, and which are not part of it.
    package func seal(_ bytes: Data, context: [UInt8]) -> Data? {
        var random = SecureRandom()
        return seal(bytes, context: context, nonce: random.bytes(Self.nonceSize))
    }

    /// Returns the message with a given nonce, for published vectors: no nonce may be used twice.
    func seal(_ bytes: Data, context: [UInt8], nonce: [UInt8]) -> Data? {
        guard nonce.count == Self.nonceSize else { return nil }
        var result = [UInt8](repeating: 0, count: bytes.count + Self.tagSize)
        let isSealed = unsafe result.withUnsafeMutableBufferPointer { result in
            unsafe bytes.withUnsafeBytes { bytes in
                unsafe result.baseAddress.map {
                    unsafe ccurl_cipher_seal(key, nonce, context, context.count, bytes.baseAddress, bytes.count, $0)
                } ?? false
            }
        }
        return isSealed ? Data(nonce + result) : nil
    }

    /// Returns the bytes of a message; `nil` if it was changed, is too short, or is of another key or context.
    package func open(_ message: Data, context: [UInt8]) -> Data? {
        guard message.count >= Self.nonceSize + Self.tagSize else { return nil }
        let nonce = [UInt8](message.prefix(Self.nonceSize)), sealed = [UInt8](message.dropFirst(Self.nonceSize))
        // An empty array may have no memory.
        var result = [UInt8](repeating: 0, count: max(sealed.count - Self.tagSize, 1))
        let isOpen = unsafe result.withUnsafeMutableBufferPointer { result in
            unsafe result.baseAddress.map {
                unsafe ccurl_cipher_open(key, nonce, context, context.count, sealed, sealed.count, $0)
            } ?? false
        }
        return isOpen ? Data(result.prefix(sealed.count - Self.tagSize)) : nil
    }
}
