private import CCurl

/// The checksum XXH64 of bytes, which detects damage. It is not made against attackers.
package enum Checksum64 {
    /// Returns the checksum of bytes.
    ///
    /// - Parameter seed: A number that the checksum depends on, so that equal bytes in different places have different checksums.
    package static func of(_ bytes: RawSpan, seed: UInt64 = 0) -> UInt64 {
        unsafe bytes.withUnsafeBytes { bytes in unsafe ccurl_checksum(bytes.baseAddress, bytes.count, seed) }
    }
}
