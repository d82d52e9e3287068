import CurlEngine

/// The addresses of names that are not looked up.
///
/// ```swift
/// let addresses = try StaticAddresses("example.com:443:192.0.2.7,192.0.2.8", "api.example.com:*:[2001:db8::1]", "*:80:127.0.0.1")
/// ```
///
/// An entry is `HOST:PORT:ADDRESS[,ADDRESS…]`, as in curl's option `--resolve` without its prefixes `+` and `-`, and besides, `*` may stand
/// for any port. The host `*` is every host, including literal addresses. Of several entries that match, the first of this list counts:
///
/// 1. the host and the port
/// 2. the host, and any port
/// 3. any host, and the port
/// 4. any host and any port
///
/// The addresses are tried in their order, IPv4 and IPv6 shortly after each other (RFC 8305). Hosts are compared without regard to case and
/// to a dot at their end; an international name is the same in Unicode and in its ASCII form.
public struct StaticAddresses: Sendable, Hashable {
    private struct Key: Hashable {
        /// The host as in a URL; `nil` for any host.
        let host: TextBytes?
        /// The port; `nil` for any port.
        let port: Int?
    }

    private var entries: [Key: [IPAddress]] = [:]

    /// Creates an empty list.
    public init() {}

    /// Creates a list of entries of the form `HOST:PORT:ADDRESS[,ADDRESS…]`. An entry replaces an earlier one with the same host and port.
    ///
    /// - Throws: As in ``add(_:)``.
    public init(_ entries: String...) throws(TrellisError) { for entry in entries { try add(entry) } }

    /// Adds an entry of the form `HOST:PORT:ADDRESS[,ADDRESS…]`, or replaces the one with the same host and port. IPv6 addresses may be in
    /// brackets; a host that is one must be.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` for a text of another form, a host that no URL can have, a
    ///   port that is not in 1…65535, or an address that is not a literal one. The zone of an IPv6 address (`%eth0`) is not accepted.
    public mutating func add(_ entry: String) throws(TrellisError) {
        var rest = entry[...]
        guard let host = RouteText.part(&rest, isLast: false), let port = RouteText.part(&rest, isLast: false) else {
            throw TrellisError.invalidRoute(
                "'\(entry)' does not have the form HOST:PORT:ADDRESS, in which HOST and PORT may be *")
        }
        guard host.utf8.first != UInt8(ascii: "+"), host.utf8.first != UInt8(ascii: "-") else {
            throw TrellisError.invalidRoute("'\(entry)' begins with '+' or '-', which is not supported")
        }
        let addresses = rest.split(atByte: ",", omittingEmptySubsequences: false)
        entries[try Self.key(host: String(host), port: port == "*" ? nil : RouteText.port(port))] =
            try Self.addresses(addresses)
    }

    /// Sets the addresses of a host.
    ///
    /// - Parameters:
    ///   - addresses: Literal addresses, in the order in which they are tried. An empty list removes the entry.
    ///   - host: The host, or `*` for any host.
    ///   - port: The port; any port if `nil`.
    /// - Throws: As in ``add(_:)``.
    public mutating func set(_ addresses: [String], for host: String, port: Int? = nil) throws(TrellisError) {
        let key = try Self.key(host: host, port: port.map(RouteText.port))
        entries[key] = addresses.isEmpty ? nil : try Self.addresses(addresses[...].map { $0[...] })
    }

    /// Returns the addresses of a host, without brackets; `nil` if they are to be looked up.
    ///
    /// - Parameters:
    ///   - host: The host as in a URL. An IPv6 address may be in brackets.
    ///   - port: The port.
    public func addresses(of host: String, port: Int) -> [String]? {
        guard !entries.isEmpty, let host = try? RouteText.host(host) else { return nil }
        return find(host, port)?.map(\.description)
    }

    /// Whether there are no entries.
    public var isEmpty: Bool { entries.isEmpty }

    /// Returns the entries in the form of ``add(_:)``, sorted.
    ///
    /// - Parameter anyPort: The text for any port.
    package func texts(anyPort: String = "*") -> [String] {
        entries.map { key, addresses in
            let list = addresses.map(\.bracketed).joined(separator: ",")
            return "\(key.host?.text ?? "*"):\(key.port.map { "\($0)" } ?? anyPort):\(list)"
        }.sorted()
    }

    /// Returns the addresses of a host.
    ///
    /// - Parameter host: The host of a URL that was parsed, in lower case.
    func find(_ host: String, _ port: Int) -> [IPAddress]? {
        guard !entries.isEmpty else { return nil }
        let name = TextBytes(host.withoutFinalDot)
        return entries[Key(host: name, port: port)] ?? entries[Key(host: name, port: nil)]
            ?? entries[Key(host: nil, port: port)] ?? entries[Key(host: nil, port: nil)]
    }

    private static func key(host: String, port: Int?) throws(TrellisError) -> Key {
        Key(host: host == "*" ? nil : TextBytes(try RouteText.host(host).withoutFinalDot), port: port)
    }

    private static func addresses(_ texts: [Substring]) throws(TrellisError) -> [IPAddress] {
        var addresses: [IPAddress] = []
        for text in texts {
            let address = try IPAddress(route: text)
            if !addresses.contains(address) { addresses.append(address) }
        }
        return addresses
    }
}

extension StaticAddresses: CustomStringConvertible {
    /// The entries, separated by blanks.
    public var description: String { texts().joined(separator: " ") }
}
