import CurlEngine

/// The network interface or the address of this machine from which connections are made.
///
/// A name of a host is not accepted, because it would have to be looked up first.
public struct SourceAddress: Sendable, Hashable, CustomStringConvertible {
    /// The largest number of bytes in the name of an interface (`IFNAMSIZ`, without its zero byte).
    static let maximumNameLength = 15

    /// The name of the interface, or the address.
    public let name: String
    /// The address; `nil` for an interface.
    let address: IPAddress?

    private init(name: String, address: IPAddress?) {
        self.name = name
        self.address = address
    }

    /// Returns a source for the name of an interface or a literal address.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` for a text that is neither.
    public init(_ text: String) throws(TrellisError) {
        self = try IPAddress(text) == nil ? .interface(text) : .address(text)
    }

    /// Returns the source for a network interface, such as `eth0`. Which interfaces exist is found out when a connection is made: an error
    /// of kind ``TrellisError/Kind/connect`` if there is none with this name, or the process may not use it.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` for a name that no interface can have: an empty one, one
    ///   with more than 15 bytes, with a slash, a colon, an exclamation mark, a blank or a control character, `.`, `..` or an address.
    public static func interface(_ name: String) throws(TrellisError) -> SourceAddress {
        let isPossible = name.utf8.allSatisfy { byte in
            byte > 0x20 && byte < 0x7F && !"/:!".utf8.contains(byte)
        }
        guard !name.isEmpty, name.utf8.count <= maximumNameLength, isPossible, name != ".", name != "..",
            IPAddress(name) == nil
        else { throw TrellisError.invalidRoute("no network interface can have the name '\(name)'") }
        return SourceAddress(name: name, address: nil)
    }

    /// Returns the source for an address of this machine, such as `192.0.2.1` or `2001:db8::1`. Whether the machine has it is found out
    /// when a connection is made: an error of kind ``TrellisError/Kind/connect`` if not. Connections are made only to addresses of the same
    /// version of IP.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` for a text that is not a literal address. The zone of an
    ///   IPv6 address (`%eth0`) is not accepted.
    public static func address(_ text: String) throws(TrellisError) -> SourceAddress {
        let address = try IPAddress(route: text)
        return SourceAddress(name: address.description, address: address)
    }

    /// The version of IP of an address; `any` for an interface.
    var family: AddressFamily { address.map { $0.isIPv6 ? .ipv6 : .ipv4 } ?? .any }

    /// The name of the interface, or the address.
    public var description: String { name }
}

extension IPAddress {
    /// Reads a literal address of a route, in brackets or not.
    init(route text: some StringProtocol) throws(TrellisError) {
        guard !text.utf8.contains(UInt8(ascii: "%")), let address = IPAddress(text) else {
            throw .invalidRoute("'\(text)' is not an IP address")
        }
        self = address
    }

    /// Returns whether the address is of a version of IP.
    func isOf(_ family: AddressFamily) -> Bool {
        switch family {
        case .any: true
        case .ipv4: !isIPv6
        case .ipv6: isIPv6
        }
    }
}
