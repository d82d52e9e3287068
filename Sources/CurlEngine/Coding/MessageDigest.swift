import CCurl
package import FoundationEssentials

/// A hash of bytes that come bit by bit, computed by the OpenSSL that libcurl has loaded or that of the system.
@safe
package final class MessageDigest {
    /// A hash function.
    package enum Algorithm: String, Sendable, Hashable, CaseIterable {
        case md5 = "MD5"
        case sha256 = "SHA256"
        case sha512 = "SHA512"
        case sha512_256 = "SHA512-256"

        /// The library is there, and lets it be used.
        package var isAvailable: Bool { MessageDigest(self) != nil }
    }

    private let handle: UnsafeMutableRawPointer
    private var hasFailed = false

    /// `nil` where the running process has no such function.
    package init?(_ algorithm: Algorithm) {
        guard let handle = unsafe ccurl_digest_create(algorithm.rawValue) else { return nil }
        unsafe self.handle = handle
    }

    deinit { unsafe ccurl_digest_free(handle) }

    /// Takes more bytes.
    package func update(_ bytes: some DataProtocol) {
        for region in bytes.regions {
            let isTaken = unsafe region.withUnsafeBytes { bytes in
                unsafe bytes.isEmpty || ccurl_digest_update(handle, bytes.baseAddress, bytes.count)
            }
            if !isTaken { hasFailed = true }
        }
    }

    /// The hash of all bytes, in lower-case hexadecimal digits; `nil` where the library failed. To be asked once.
    package func finish() -> String? {
        var bytes = [UInt8](repeating: 0, count: Int(CCURL_DIGEST_CAPACITY))
        let count = unsafe bytes.withUnsafeMutableBufferPointer { bytes in
            unsafe bytes.baseAddress.map { unsafe ccurl_digest_finish(handle, $0) } ?? 0
        }
        guard count > 0, !hasFailed else { return nil }
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: bytes.prefix(count).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// The hash of a text as UTF-8.
    package static func hash(_ text: String, _ algorithm: Algorithm) -> String? {
        guard let digest = MessageDigest(algorithm) else { return nil }
        digest.update(Array(text.utf8))
        return digest.finish()
    }
}
