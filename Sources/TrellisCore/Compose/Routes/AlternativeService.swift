import CurlEngine

/// Another place at which the resources of an origin can be had (RFC 7838, section 2): a protocol, a host and a port.
public struct AlternativeService: Sendable, Hashable {
    /// The protocol by its ALPN identifier, such as `h3` (RFC 7301).
    public let protocolID: String
    /// The host, in lower case and ASCII, with IPv6 addresses in brackets.
    public let host: String
    /// The port.
    public let port: Int

    /// Creates a service. The host is converted to lower case.
    public init(protocolID: String, host: String, port: Int) {
        self.protocolID = protocolID
        self.host = host.lowercasedASCII()
        self.port = port
    }

    /// The host and the port as one text.
    var authority: String { "\(host):\(port)" }
}

extension AlternativeService: CustomStringConvertible {
    /// The protocol and the place, as in `h3 at alt.example:443`.
    public var description: String { "\(protocolID) at \(authority)" }
}
