import CurlEngine

/// The hosts that are reached without a proxy, in the format of the environment variable `no_proxy`.
///
/// ```swift
/// let exceptions: ProxyExceptions = "localhost, .internal.example, 10.0.0.0/8, example.com:8443"
/// ```
///
/// Commas and blanks separate entries. Names are compared without regard to case and to a dot at their end; an international name is the
/// same in Unicode and in its ASCII form. No name is looked up: an entry with addresses matches only URLs with addresses.
///
/// | entry | matches |
/// |---|---|
/// | `example.com`, `.example.com` | the host and all of its subdomains |
/// | `*.example.com` | the subdomains only |
/// | `10.0.0.1`, `::1`, `[::1]` | the address, in any spelling |
/// | `10.0.0.0/8`, `2001:db8::/32` | all addresses with these first bits; `/0` matches the address itself, as curl has it |
/// | `example.com:8443`, `[::1]:8443` | as without the port, but only requests to this port |
/// | `*` | every host |
/// | any other text | nothing |
///
/// These are the forms of `no_proxy`. In a ``HostPattern``, they differ: `example.com` is the host alone and `*.example.com`
/// one label below it.
public struct ProxyExceptions: Sendable, Hashable {
    private enum Pattern: Hashable {
        case everything
        case domain(String, includesHost: Bool)
        case network(AddressPrefix)
    }

    private struct Entry: Hashable {
        let text: String
        /// The hosts that match; `nil` if the entry is malformed.
        let pattern: Pattern?
        let port: UInt16?
    }

    private let entries: [Entry]

    /// Creates the list of a text. Malformed entries match nothing.
    public init(_ list: String) {
        entries = list.utf8
            .split { $0 == UInt8(ascii: ",") || $0 == 0x20 || (9...13).contains($0) }
            .map { Self.entry(String(Substring($0))) }
    }

    /// Whether there are no entries.
    public var isEmpty: Bool { entries.isEmpty }

    /// Returns whether requests to a host and port need no proxy.
    ///
    /// - Parameters:
    ///   - host: The host as in a URL. An IPv6 address may be in brackets.
    ///   - port: The port.
    public func contains(host: String, port: Int) -> Bool { match(host: host, port: port) != nil }

    /// An entry that matches a host.
    package struct Match: Hashable {
        /// The number of the entry in the list, from 1.
        package let number: Int
        /// The text of the entry.
        package let entry: String
    }

    /// Returns the first entry that matches a host and port, if any.
    package func match(host: String, port: Int) -> Match? {
        guard !entries.isEmpty else { return nil }
        let address = IPAddress(host)
        let name = address == nil ? Self.canonical(host) : nil
        for (index, entry) in entries.enumerated() {
            guard let pattern = entry.pattern, entry.port.map({ Int($0) == port }) ?? true else { continue }
            let isMatch =
                switch pattern {
                case .everything: true
                case .network(let network): address.map(network.contains) ?? false
                case .domain(let domain, let includesHost):
                    name.map { $0 == domain ? includesHost : $0.hasByteSuffix("." + domain) } ?? false
                }
            if isMatch { return Match(number: index + 1, entry: entry.text) }
        }
        return nil
    }

    // MARK: Parsing

    private static func entry(_ text: String) -> Entry {
        let (host, port) = split(text)
        guard let port else { return Entry(text: text, pattern: nil, port: nil) }
        return Entry(text: text, pattern: pattern(host), port: port == 0 ? nil : port)
    }

    /// Returns the host and the port of an entry; zero for an entry without a port, `nil` for a malformed port.
    private static func split(_ text: String) -> (host: Substring, port: UInt16?) {
        guard let colon = text.lastIndex(ofByte: ":"), !text[..<colon].containsBytes(":") || text.hasBytePrefix("[")
        else { return (text[...], 0) }
        let host = text[..<colon], digits = text[colon...].dropFirst()
        // The last colon of an address in brackets that has no port.
        if host.hasBytePrefix("["), host.utf8.last != UInt8(ascii: "]") { return (text[...], 0) }
        guard !digits.isEmpty, digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let port = UInt16(digits), port > 0
        else { return (host, nil) }
        return (host, port)
    }

    private static func pattern(_ host: Substring) -> Pattern? {
        if host == "*" { return .everything }
        if let network = AddressPrefix(host) {
            return .network(network.bits == 0 ? AddressPrefix(network.address) : network)
        }
        guard !host.containsBytes("/") else { return nil }
        let isWildcard = host.hasBytePrefix("*.")
        guard let name = canonical(String(host.dropFirst(isWildcard ? 2 : host.hasBytePrefix(".") ? 1 : 0))),
            !name.isEmpty, !name.containsBytes("*"), !name.containsBytes(":"), !name.hasBytePrefix(".")
        else { return nil }
        return .domain(name, includesHost: !isWildcard)
    }

    /// Returns a name in lower case, in its ASCII form and without a dot at its end; `nil` if it has no ASCII form.
    private static func canonical(_ name: String) -> String? {
        name.asciiHost?.withoutFinalDot.lowercasedASCII()
    }
}

extension ProxyExceptions: ExpressibleByStringLiteral {
    /// Creates the list of a text.
    public init(stringLiteral list: String) { self.init(list) }
}

extension ProxyExceptions: CustomStringConvertible {
    /// The entries, separated by commas.
    public var description: String { entries.map(\.text).joined(separator: ",") }
}
