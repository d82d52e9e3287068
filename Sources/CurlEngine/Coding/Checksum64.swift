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

/// The checksum ``Checksum64`` of bytes that arrive in parts.
package struct RunningChecksum64: Sendable {
    private var state = ccurl_running_checksum()

    /// Creates the checksum of no bytes.
    package init(seed: UInt64) { unsafe ccurl_checksum_begin(&state, seed) }

    /// Adds bytes.
    package mutating func add(_ bytes: RawSpan) {
        unsafe bytes.withUnsafeBytes { bytes in unsafe ccurl_checksum_add(&state, bytes.baseAddress, bytes.count) }
    }

    /// The checksum of the bytes up to now.
    package var value: UInt64 {
        unsafe withUnsafePointer(to: state) { unsafe ccurl_checksum_end($0) }
    }
}
