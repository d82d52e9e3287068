import CCurl
package import FoundationEssentials

/// A hash of bytes that arrive in parts, computed by the OpenSSL that libcurl has loaded, or by the system's.
@safe
package final class MessageDigest {
    /// A hash function.
    package enum Algorithm: String, Sendable, Hashable, CaseIterable {
        /// The MD5 function (RFC 1321).
        case md5 = "MD5"
        /// The SHA-256 function (FIPS 180-4).
        case sha256 = "SHA256"
        /// The SHA-512 function (FIPS 180-4).
        case sha512 = "SHA512"
        /// The SHA-512/256 function (FIPS 180-4).
        case sha512_256 = "SHA512-256"

        /// Whether the library is available and permits the function.
        package var isAvailable: Bool { MessageDigest(self) != nil }
    }

    private let handle: UnsafeMutableRawPointer
    /// Whether the library has failed to hash some bytes.
    private var hasFailed = false

    /// Creates a digest; `nil` if the function is not available in this process.
    package init?(_ algorithm: Algorithm) {
        guard let handle = unsafe ccurl_digest_create(algorithm.rawValue) else { return nil }
        unsafe self.handle = handle
    }

    deinit { unsafe ccurl_digest_free(handle) }

    /// Adds more bytes to the hash.
    package func update(_ bytes: some DataProtocol) {
        for region in bytes.regions {
            let isTaken = unsafe region.withUnsafeBytes { bytes in
                unsafe bytes.isEmpty || ccurl_digest_update(handle, bytes.baseAddress, bytes.count)
            }
            if !isTaken { hasFailed = true }
        }
    }

    /// Returns the hash of all bytes; `nil` if the library has failed. Only one of the methods that finish may be called, and only once.
    package func finishBytes() -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: Int(CCURL_DIGEST_CAPACITY))
        let count = unsafe bytes.withUnsafeMutableBufferPointer { bytes in
            unsafe bytes.baseAddress.map { unsafe ccurl_digest_finish(handle, $0) } ?? 0
        }
        return count > 0 && !hasFailed ? Array(bytes.prefix(count)) : nil
    }

    /// Returns the hash of all bytes in lower-case hexadecimal digits; `nil` if the library has failed. See ``finishBytes()``.
    package func finish() -> String? {
        guard let bytes = finishBytes() else { return nil }
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// Returns the hash of some bytes; `nil` if the function is not available in this process.
    package static func bytes(_ bytes: some DataProtocol, _ algorithm: Algorithm) -> [UInt8]? {
        guard let digest = MessageDigest(algorithm) else { return nil }
        digest.update(bytes)
        return digest.finishBytes()
    }

    /// Returns the hash of a text as UTF-8.
    package static func hash(_ text: String, _ algorithm: Algorithm) -> String? {
        guard let digest = MessageDigest(algorithm) else { return nil }
        digest.update(Array(text.utf8))
        return digest.finish()
    }
}
