#if Redis
import CurlEngine
public import TrellisCore

/// A key of the user's that encrypts what a server keeps of one user, by AES-256-GCM (NIST SP 800-38D).
///
/// ```swift
/// let key = try RedisKey(secret, name: "2026-11")
/// let cache = RedisCacheStorage(redis, keys: [key, last])
/// ```
///
/// To replace a key, add the new one to the end of all lists first, then make it the first one, and then remove the old one, each time in
/// all processes before the next step.
public struct RedisKey: Sendable, RedactedDescription {
    /// The name of the key, which is stored with what the key has encrypted.
    public let name: String
    let cipher: AuthenticatedCipher
    /// The secret with which names are made, so that nobody without the key can tell which response a name is of.
    let naming: [UInt8]

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - secret: 32 random bytes, such as those of `head -c 32 /dev/urandom`. A password is no key.
    ///   - name: The name of the key, of at most 255 bytes. Two keys of a list have different names.
    /// - Throws: ``RedisFailure/unusableKey`` if the secret has another size, the name is too long, or there is no OpenSSL.
    public init(_ secret: some Sequence<UInt8>, name: String) throws(RedisFailure) {
        let secret = Array(secret)
        guard name.utf8.count <= 255, let cipher = AuthenticatedCipher(key: secret),
            let naming = MessageAuthenticationCode.code(Array("trellis names".utf8), key: secret, .sha256)
        else { throw .unusableKey }
        (self.name, self.cipher, self.naming) = (name, cipher, naming)
    }
}
#endif
