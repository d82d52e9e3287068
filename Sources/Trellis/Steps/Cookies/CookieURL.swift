package import CurlEngine

/// What of a URL matters to cookies: scheme, host and path. Ports do not.
public struct CookieURL: Sendable, Hashable {
    /// In lower case, international names as ASCII, IPv6 addresses in brackets.
    public let host: String
    /// As it is sent, without the query; `/` for none.
    public let path: String
    /// Whether cookies with `Secure` go with it: over https alone, on the local machine as well.
    public let isSecure: Bool
    /// Nothing is below an address.
    let hasAddress: Bool

    /// What matters of an absolute `http` or `https` URL; `nil` for everything else.
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
