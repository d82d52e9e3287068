/// The addresses to which an engine makes connections.
package struct EgressRules: Sendable {
    private struct Rule {
        let network: AddressPrefix
        let isAllowed: Bool
    }

    /// The rules for addresses, the smallest networks first. For the same network, the denial comes first.
    private let rules: [Rule]

    /// Creates the rules. An address in none of the networks is allowed.
    package init(allowed: [AddressPrefix], denied: [AddressPrefix]) {
        let rules =
            denied.map { Rule(network: $0, isAllowed: false) } + allowed.map { Rule(network: $0, isAllowed: true) }
        // The sort keeps the order of equal elements.
        self.rules = rules.sorted { $0.network.bits > $1.network.bits }
    }

    /// Returns the network that denies connections to an address; `nil` if none does.
    ///
    /// The smallest network that contains the address decides. An IPv6 address that stands for an IPv4 address has to be allowed as both.
    package func denial(of address: IPAddress) -> AddressPrefix? {
        ([address] + address.translated).lazy.compactMap(denial(ofOne:)).first
    }

    private func denial(ofOne address: IPAddress) -> AddressPrefix? {
        guard let rule = rules.first(where: { $0.network.contains(address) }) else { return nil }
        return rule.isAllowed ? nil : rule.network
    }
}

extension IPAddress {
    /// The beginnings of IPv6 addresses that end in an IPv4 address: of NAT64 with its well-known prefix (RFC 6052, section 2.1), of
    /// IPv4-translated addresses (RFC 2765, section 2.1), and of IPv4-compatible ones (RFC 4291, section 2.5.5.1), which tunnels have.
    private static let prefixesOfIPv4: [[UInt8]] = [
        [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0],
        Array(repeating: 0, count: 12),
    ]

    /// The IPv4 addresses to which a translator or a tunnel sends what is sent to this IPv6 address: for ``prefixesOfIPv4``, for 6to4
    /// (RFC 3056, section 2), and for the server and the client of Teredo (RFC 4380, section 4).
    package var translated: [IPAddress] {
        // The unspecified address and loopback are themselves.
        guard isIPv6, !isLoopback, bytes.contains(where: { $0 != 0 }) else { return [] }
        if Self.prefixesOfIPv4.contains(where: bytes.starts) { return [IPAddress(known: Array(bytes[12...]))] }
        if bytes.starts(with: [0x20, 0x02]) { return [IPAddress(known: Array(bytes[2..<6]))] }
        if bytes.starts(with: [0x20, 0x01, 0, 0]) {
            return [IPAddress(known: Array(bytes[4..<8])), IPAddress(known: bytes[12...].map { ~$0 })]
        }
        return []
    }
}
