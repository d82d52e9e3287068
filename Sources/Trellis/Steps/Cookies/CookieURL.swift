package import CurlEngine

/// The parts of a URL that matter to cookies: scheme, host and path. Ports do not matter.
public struct CookieURL: Sendable, Hashable {
    /// The host in lower case, international names as ASCII, IPv6 addresses in brackets.
    public let host: String
    /// The path as it is sent, without the query; `/` for an empty path.
    public let path: String
    /// Indicates whether cookies with `Secure` are sent to the URL: over https alone, on the local machine as well.
    public let isSecure: Bool
    /// Indicates whether the host is an IP address, which has no subdomains.
    let hasAddress: Bool

    /// Creates the value of an absolute `http` or `https` URL; `nil` if the text is anything else.
    public init?(_ text: String) {
        guard let url = try? WireURL(parsing: text) else { return nil }
        self.init(url)
    }

    package init(_ url: WireURL) {
        host = url.host.lowercased()
        let rest = url.text.utf8.dropFirst(url.origin.utf8.count)
        let path = rest.prefix { $0 != UInt8(ascii: "?") }
        self.path = path.first == UInt8(ascii: "/") ? String(Substring(path)) : "/"
        isSecure = url.scheme == "https"
        hasAddress = CookieDomain.isAddress(host)
    }
}
