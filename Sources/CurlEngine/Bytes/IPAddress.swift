private import Glibc

/// An IP address as bytes, so that different spellings of an address are equal. An IPv4 address in an IPv6 one (`::ffff:10.0.0.1`) is the
/// IPv4 address.
package struct IPAddress: Hashable, Sendable {
    /// The bytes in network order: four of an IPv4 address, sixteen of an IPv6 address.
    package let bytes: [UInt8]
    /// The number of the network interface to which a link-local address belongs (RFC 4007, section 6), if it is known; otherwise zero.
    var scope: UInt32 = 0

    /// Whether the address is an IPv6 address.
    package var isIPv6: Bool { bytes.count == 16 }

    /// Whether the address is this machine's: 127.0.0.0/8 (RFC 1122, section 3.2.1.3) or ::1 (RFC 4291, section 2.5.3).
    package var isLoopback: Bool {
        isIPv6 ? bytes.last == 1 && bytes.dropLast().allSatisfy { $0 == 0 } : bytes.first == 127
    }

    /// Creates the address with some bytes in network order; `nil` unless there are four or sixteen.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = Self.unmapped(bytes)
    }

    /// Creates an address with bytes that are known to be one.
    init(known bytes: [UInt8]) { self.bytes = bytes }

    /// Returns the bytes of the IPv4 address in an IPv6 one; any other address unchanged.
    private static func unmapped(_ bytes: [UInt8]) -> [UInt8] {
        let mapped: [UInt8] = Array(repeating: 0, count: 10) + [255, 255]
        return bytes.count == 16 && bytes.starts(with: mapped) ? Array(bytes[12...]) : bytes
    }

    /// Reads an address: four decimal numbers, or the text form of RFC 4291, section 2.2, in brackets or not. The zone of an IPv6 address
    /// is ignored. Returns `nil` for any other text.
    package init?(_ text: some StringProtocol) {
        var text = Substring(text)
        if text.utf8.first == UInt8(ascii: "["), text.utf8.last == UInt8(ascii: "]") {
            text = text.dropFirst().dropLast()
            guard text.utf8.contains(UInt8(ascii: ":")) else { return nil }
        }
        let isIPv6 = text.utf8.contains(UInt8(ascii: ":"))
        // The system would read the text up to the NUL alone.
        if text.utf8.contains(0) { return nil }
        if isIPv6, let zone = text.utf8.firstIndex(of: UInt8(ascii: "%")) { text = text[..<zone] }
        var buffer = [UInt8](repeating: 0, count: isIPv6 ? 16 : 4)
        let isValid = unsafe buffer.withUnsafeMutableBytes { buffer in
            unsafe inet_pton(isIPv6 ? AF_INET6 : AF_INET, String(text), buffer.baseAddress) == 1
        }
        guard isValid else { return nil }
        bytes = Self.unmapped(buffer)
    }

    /// Returns whether the first bits are the same in another address.
    package func hasPrefix(_ other: IPAddress, bits: Int) -> Bool {
        guard bytes.count == other.bytes.count, bits >= 0, bits <= bytes.count * 8 else { return false }
        let whole = bits / 8
        guard bytes[..<whole] == other.bytes[..<whole] else { return false }
        guard bits % 8 > 0 else { return true }
        return (bytes[whole] ^ other.bytes[whole]) >> (8 - bits % 8) == 0
    }
}

extension IPAddress: CustomStringConvertible {
    /// The usual text of the address (RFC 5952), without brackets.
    package var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let isWritten = unsafe bytes.withUnsafeBytes { bytes in
            unsafe inet_ntop(isIPv6 ? AF_INET6 : AF_INET, bytes.baseAddress, &text, socklen_t(text.count)) != nil
        }
        return isWritten ? String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) : ""
    }

    /// The address as the host of a URL: an IPv6 address in brackets.
    package var bracketed: String { isIPv6 ? "[\(self)]" : description }
}
