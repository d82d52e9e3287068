package import CurlEngine

/// The rules for comparing hosts and domains of cookies.
package enum CookieDomain {
    /// Returns a domain in lower case, without a leading dot; `nil` if the text cannot be a host. International names must
    /// be ASCII, IPv6 addresses in brackets (RFC 3986, section 3.2.2).
    package static func canonical(_ text: String) -> String? {
        let domain = text.hasPrefix(".") ? text.dropFirst() : text[...]
        let isIPv6 = domain.hasPrefix("[") && domain.hasSuffix("]")
        let name = isIPv6 ? domain.dropFirst().dropLast() : domain
        guard !name.isEmpty, name.utf8.allSatisfy({ isAllowed($0) || isIPv6 && $0 == UInt8(ascii: ":") }) else {
            return nil
        }
        // A host with an empty label cannot be in a URL that is requested.
        let dot = UInt8(ascii: ".")
        guard !name.utf8.split(separator: dot, omittingEmptySubsequences: false).contains(where: \.isEmpty) else {
            return nil
        }
        return domain.lowercasedASCII()
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
        // The last two occur in names that browsers accept, and before the zone of an IPv6 address.
        case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "%"), UInt8(ascii: "~"): true
        default: false
        }
    }

    /// Returns whether a host is an IP address, which has no subdomains. A host whose last label is a number is an IPv4 address
    /// to the WHATWG URL standard (section 3.5), or invalid.
    package static func isAddress(_ host: String) -> Bool {
        if host.utf8.first == UInt8(ascii: "[") || host.utf8.contains(UInt8(ascii: ":")) { return true }
        let label = host.utf8.reversed().prefix { $0 != UInt8(ascii: ".") }
        return !label.isEmpty && label.allSatisfy { $0 >= 0x30 && $0 <= 0x39 }
    }

    /// Returns whether a host domain-matches a domain (RFC 6265bis, section 5.1.3), both canonical.
    static func matches(_ host: String, _ domain: String) -> Bool {
        guard host.utf8.count > domain.utf8.count else { return host.hasSameBytes(as: domain) }
        let rest = host.utf8.dropFirst(host.utf8.count - domain.utf8.count - 1)
        return rest.first == UInt8(ascii: ".") && rest.dropFirst().elementsEqual(domain.utf8) && !isAddress(host)
    }
}

/// The rules for comparing paths of cookies (RFC 6265bis, section 5.1.4).
enum CookiePath {
    /// Returns the path of a cookie whose server named none: the path of the request up to its last slash.
    static func standard(for path: String) -> String {
        guard path.utf8.first == UInt8(ascii: "/"), let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")),
            slash > path.startIndex
        else { return "/" }
        return String(path[..<slash])
    }

    /// Returns whether the path of a request is the cookie's path or below it.
    static func matches(_ path: String, _ cookiePath: String) -> Bool {
        let (path, prefix) = (path.utf8, cookiePath.utf8)
        guard path.starts(with: prefix) else { return false }
        return path.count == prefix.count || prefix.last == UInt8(ascii: "/")
            || path.dropFirst(prefix.count).first == UInt8(ascii: "/")
    }
}

/// The domains under which anyone can have a name, such as `com`, `co.uk` and `github.io`. A cookie for all names under such a
/// domain would reach strangers: a supercookie.
struct PublicSuffixes: Sendable {
    /// Returns whether a domain is a public suffix; `nil` if that is unknown.
    private let answer: @Sendable (String) -> Bool?

    /// Creates a set from a function of domains in lower case and ASCII, which returns `nil` if it does not know a domain.
    init(_ answer: @escaping @Sendable (String) -> Bool?) { self.answer = answer }

    /// The Public Suffix List of the libpsl that libcurl has loaded. For a domain that is not on the list, libpsl takes the last
    /// label for a suffix.
    static let system = PublicSuffixes(PublicSuffixList.contains)

    /// Returns whether a domain is a suffix. Without a list, a domain without a dot is one, and no other. `co.uk` passes, because the
    /// rights of a server must not depend on how libcurl was built.
    func contains(_ domain: String) -> Bool { answer(domain) ?? !domain.utf8.contains(UInt8(ascii: ".")) }
}

/// The parts of a URL that matter to cookies: scheme, host and path. Ports do not matter.
public struct CookieURL: Sendable, Hashable {
    /// The host in lower case and without a dot at its end, international names as ASCII, IPv6 addresses in brackets.
    public let host: String
    /// The path as it is sent, without the query; `/` for an empty path.
    public let path: String
    /// Whether cookies with `Secure` are sent to the URL: over https alone, on the local machine as well.
    public let isSecure: Bool
    /// Whether the host is an IP address, which has no subdomains.
    let hasAddress: Bool

    /// Creates the value of an absolute `http` or `https` URL; `nil` if the text is anything else.
    public init?(_ text: String) {
        guard let url = try? WireURL(parsing: text) else { return nil }
        self.init(url)
    }

    /// Creates the value from a parsed URL.
    package init(_ url: WireURL) {
        host = url.name.lowercasedASCII()
        let rest = url.text.utf8.dropFirst(url.origin.utf8.count)
        let path = rest.prefix { $0 != UInt8(ascii: "?") }
        self.path = path.first == UInt8(ascii: "/") ? String(Substring(path)) : "/"
        isSecure = url.scheme == "https"
        hasAddress = CookieDomain.isAddress(host)
    }
}
