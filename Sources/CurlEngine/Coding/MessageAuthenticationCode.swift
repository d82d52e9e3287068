/// The code of a message that only the owners of a key can make (HMAC, RFC 2104).
package enum MessageAuthenticationCode {
    /// Returns the code of some bytes; `nil` if the hash function is not available in this process.
    package static func code(_ bytes: [UInt8], key: [UInt8], _ algorithm: MessageDigest.Algorithm) -> [UInt8]? {
        let block = algorithm.blockSize
        guard let short = key.count <= block ? key : MessageDigest.bytes(key, algorithm) else { return nil }
        let padded = short + [UInt8](repeating: 0, count: block - short.count)
        guard let inner = MessageDigest.bytes(padded.map { $0 ^ 0x36 } + bytes, algorithm) else { return nil }
        return MessageDigest.bytes(padded.map { $0 ^ 0x5C } + inner, algorithm)
    }

    /// Returns whether two codes are the same, in a time that does not depend on where they differ.
    package static func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        guard one.count == other.count else { return false }
        return zip(one, other).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

extension MessageDigest.Algorithm {
    /// The number of bytes that the function hashes at once.
    fileprivate var blockSize: Int {
        switch self {
        case .md5, .sha256: 64
        case .sha512, .sha512_256: 128
        }
    }
}
