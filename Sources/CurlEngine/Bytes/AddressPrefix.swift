/// A network: the addresses with the same first bits (RFC 4632, section 3.1; RFC 4291, section 2.3).
package struct AddressPrefix: Hashable, Sendable {
    /// An address of the network.
    package let address: IPAddress
    /// The number of bits that all addresses of the network share with ``address``.
    package let bits: Int

    /// Creates the network of one address.
    package init(_ address: IPAddress) { self.init(address, bits: address.bytes.count * 8) }

    private init(_ address: IPAddress, bits: Int) { (self.address, self.bits) = (address, bits) }

    /// Reads `ADDRESS/BITS`, or an address alone. Returns `nil` for any other text.
    package init?(_ text: some StringProtocol) {
        let text = Substring(text)
        guard let slash = text.lastIndex(ofByte: "/") else {
            guard let address = IPAddress(text) else { return nil }
            self.init(address)
            return
        }
        let digits = text[slash...].dropFirst()
        guard let address = IPAddress(text[..<slash]), !digits.isEmpty,
            digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let bits = Int(digits),
            bits <= address.bytes.count * 8
        else { return nil }
        self.init(address, bits: bits)
    }

    /// Returns whether an address belongs to the network.
    package func contains(_ other: IPAddress) -> Bool { other.hasPrefix(address, bits: bits) }
}

extension AddressPrefix: CustomStringConvertible {
    /// The network as `ADDRESS/BITS`.
    package var description: String { "\(address)/\(bits)" }
}
