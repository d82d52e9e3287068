package import CurlEngine

/// The origin of a URL: its scheme, host and port (RFC 6454, section 4).
public struct URLOrigin: Sendable, Hashable, CustomStringConvertible {
    /// The scheme, `http` or `https`.
    public let scheme: String
    /// The host in lower case and in ASCII form, with IPv6 addresses in brackets. With a dot at its end, it belongs to another origin.
    public let host: String
    /// The port of the URL, or else the default port of the scheme: 80 or 443.
    public let port: Int

    /// Creates an origin from its parts. Scheme and host are converted to lower case.
    public init(scheme: String, host: String, port: Int) {
        self.scheme = scheme.lowercasedASCII()
        self.host = host.lowercasedASCII()
        self.port = port
    }

    /// Creates the origin of a URL.
    package init(_ url: WireURL) { self.init(scheme: url.scheme, host: url.host, port: Int(url.port)) }

    /// Whether the host is this machine: `localhost`, a name that ends in `.localhost` (RFC 6761, section 6.3), or an address of
    /// 127.0.0.0/8 or ::1.
    public var isLoopback: Bool {
        host.isLocalName || IPAddress(host)?.isLoopback == true
    }

    /// The origin as the beginning of a URL, always with the port: `https://example.com:443`.
    public var description: String { "\(scheme)://\(host):\(port)" }
}
