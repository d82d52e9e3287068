import CurlEngine

/// The hosts to which a setting of trust applies.
///
/// | pattern | matches | does not match |
/// |---|---|---|
/// | `example.com` | `example.com` | `www.example.com` |
/// | `*.example.com` | `www.example.com` | `example.com`, `a.b.example.com` |
/// | `**.example.com` | `example.com`, `www.example.com`, `a.b.example.com` | `myexample.com` |
/// | `10.0.0.1`, `::1`, `[::1]` | the address, in any spelling of a URL | names of the address |
///
/// Names are compared without regard to the case of ASCII letters and to a dot at their end; an international name is the same
/// in Unicode and in its ASCII form. No name is looked up. Short and hexadecimal spellings of IPv4 addresses, such as `127.1`, are no
/// patterns.
///
/// In ``ProxyExceptions``, the asterisk differs: `*.example.com` is any depth there.
///
/// If several patterns match a host, the most specific one applies: a name without asterisks first, then the one with the longest part
/// after the asterisks, and of two with the same part the one with a single asterisk.
public struct HostPattern: Sendable, Hashable {
    private enum Form: Hashable {
        case host(String)
        case address(IPAddress)
        /// The pattern `*.name`.
        case label(String)
        /// The pattern `**.name`.
        case domain(String)
    }

    /// The text that the pattern was created from.
    public let text: String
    private let form: Form

    /// Creates a pattern from a text such as `*.example.com`.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` if the text is not one of the forms in the table.
    public init(_ text: String) throws(TrellisError) {
        self.text = text
        if let address = IPAddress(text) {
            form = .address(address)
            return
        }
        let asterisks = text.hasBytePrefix("**.") ? 2 : text.hasBytePrefix("*.") ? 1 : 0
        guard let name = Self.canonical(String(Substring(text.utf8.dropFirst(asterisks == 0 ? 0 : asterisks + 1)))),
            asterisks == 0 || IPAddress(name) == nil
        else { throw TrellisError(.invalidRequest(.hostPattern(text))) }
        form = asterisks == 0 ? .host(name) : asterisks == 1 ? .label(name) : .domain(name)
    }

    /// Returns the name in lower case and in ASCII form, without a dot at its end; `nil` for a text that is not a name.
    private static func canonical(_ text: String) -> String? {
        let ascii = text.asciiHost?.withoutFinalDot
        guard let name = ascii?.utf8.map({ 0x41...0x5a ~= $0 ? $0 | 0x20 : $0 }) else { return nil }
        let labels = name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard labels.allSatisfy({ !$0.isEmpty && $0.allSatisfy(isNameByte) }), labels.last.map(isNumber) == false else {
            return nil
        }
        return String(decoding: name, as: UTF8.self)
    }

    /// Returns whether a label is a number. URLs write an address whose last part is one in its usual form, and have no such names (WHATWG
    /// URL, section 3.5).
    private static func isNumber(_ label: ArraySlice<UInt8>) -> Bool {
        if label.starts(with: "0x".utf8) {
            return label.dropFirst(2).allSatisfy { 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 }
        }
        return label.allSatisfy { 0x30...0x39 ~= $0 }
    }

    /// Returns whether names have the byte: in practice, letters, digits, hyphens and underscores.
    private static func isNameByte(_ byte: UInt8) -> Bool {
        0x61...0x7a ~= byte || 0x30...0x39 ~= byte || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }

    /// Returns whether the pattern matches a host.
    ///
    /// - Parameter host: The host as in a URL: a name in ASCII form, with or without a dot at its end, or an address. An IPv6 address may
    ///   be in brackets.
    public func matches(_ host: String) -> Bool {
        let host = host.withoutFinalDot
        switch form {
        case .host(let name): return host.utf8.count == name.utf8.count && Self.ends(host, in: name)
        case .address(let address): return IPAddress(host) == address
        case .label(let name):
            guard let rest = Self.rest(of: host, before: name), !rest.isEmpty else { return false }
            return !rest.dropLast().contains(UInt8(ascii: "."))
        case .domain(let name): return Self.rest(of: host, before: name) != nil
        }
    }

    /// Returns the part of a host before a name, with the dot between the two; `nil` if the host does not end in the name.
    private static func rest(of host: String, before name: String) -> Substring.UTF8View? {
        guard ends(host, in: name) else { return nil }
        let rest = host.utf8.dropLast(name.utf8.count)
        guard !rest.isEmpty else { return rest }
        // A host does not begin with a dot.
        return rest.count > 1 && rest.last == UInt8(ascii: ".") ? rest : nil
    }

    /// Returns whether the last bytes of a host are a name, which is in lower case.
    private static func ends(_ host: String, in name: String) -> Bool {
        guard host.utf8.count >= name.utf8.count else { return false }
        return zip(host.utf8.suffix(name.utf8.count), name.utf8).allSatisfy { byte, expected in
            byte == expected || (0x41...0x5a ~= byte && byte | 0x20 == expected)
        }
    }

    /// Returns whether the pattern takes precedence over another one that matches the same host.
    package func isMoreSpecific(than other: HostPattern) -> Bool { rank > other.rank }

    /// The rank among patterns that match the same host.
    private var rank: Int {
        switch form {
        case .host, .address: .max
        case .label(let name): name.utf8.count * 2 + 1
        case .domain(let name): name.utf8.count * 2
        }
    }
}

extension HostPattern: CustomStringConvertible {
    /// The text of the pattern.
    public var description: String { text }
}

extension HostPattern {
    /// Returns whether the patterns match the same hosts.
    public static func == (one: HostPattern, other: HostPattern) -> Bool { one.form == other.form }

    /// Hashes the hosts that the pattern matches.
    public func hash(into hasher: inout Hasher) { hasher.combine(form) }
}
