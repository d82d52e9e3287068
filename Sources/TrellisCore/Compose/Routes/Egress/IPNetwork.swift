package import CurlEngine

/// A network of IP addresses with the same first bits, in the notation of RFC 4632, section 3.1, and RFC 4291, section 2.3.
///
/// ```swift
/// let network = try IPNetwork("10.1.0.0/16")
/// network.contains("10.1.2.3")                                       // true
/// ```
public struct IPNetwork: Sendable, Hashable {
    package let prefix: AddressPrefix

    /// Creates the network of a text: `10.1.0.0/16`, `2001:db8::/32`, or a single address.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` for any other text.
    public init(_ text: String) throws(TrellisError) {
        guard let prefix = AddressPrefix(text) else {
            throw TrellisError(.invalidRequest(.egress("'\(text)' is not a network such as 10.1.0.0/16")))
        }
        self.prefix = prefix
    }

    package init(_ prefix: AddressPrefix) { self.prefix = prefix }

    /// Returns whether a literal address belongs to the network. An IPv4 address in an IPv6 one (`::ffff:10.1.2.3`) is the IPv4 address.
    public func contains(_ address: String) -> Bool { IPAddress(address).map(prefix.contains) ?? false }
}

extension IPNetwork: CustomStringConvertible {
    /// The network as `10.1.0.0/16`.
    public var description: String { "\(prefix)" }
}
