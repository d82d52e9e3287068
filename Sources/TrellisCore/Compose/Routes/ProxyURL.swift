import CurlEngine

/// The parts of a proxy's URL.
struct ProxyURL {
    let kind: Proxy.Kind
    /// The host as in a URL, with IPv6 addresses in brackets.
    let host: String
    let port: UInt16
    /// The path of the Unix domain socket of a SOCKS proxy; `nil` if the proxy has a host.
    let socketPath: String?
    let username: String?
    let password: String?

    /// Parses a URL with a scheme of ``Proxy/Kind``, or the scheme `socks`, which means SOCKS 4 as in curl.
    ///
    /// - Parameter ignoresPath: Whether a path, query or fragment is allowed and ignored.
    init(_ text: String, ignoresPath: Bool = false) throws(TrellisError) {
        do throws(WireURL.ParseFailure) {
            guard !text.isEmpty else { throw .empty }
            guard let mark = text.schemeMark else { throw .relative }
            let scheme = text[..<mark.lowerBound].lowercasedASCII()
            guard let kind = scheme == "socks" ? .socks4 : Proxy.Kind(rawValue: scheme), kind != .direct else {
                throw .unsupportedScheme(scheme)
            }
            // libcurl parses the other parts in the same way for every scheme that it knows.
            let wire = try WireURL(parsing: "http" + text[mark.lowerBound...])
            let path = wire.text.dropFirst(wire.origin.utf8.count)
            let isSocket = kind.isSOCKS && wire.host.lowercasedASCII() == "localhost" && path != "/"
            let isPlain = (path == "/" || isSocket) && !text.containsBytes("#") && !text.containsBytes("?")
            guard isPlain || ignoresPath else {
                throw .malformed("it has a path, a query or a fragment")
            }
            guard !Self.hasZone(text[mark.upperBound...]) else {
                throw .malformed("an IPv6 address with a zone is not supported")
            }
            self.kind = kind
            host = wire.host
            port = Self.hasPort(text[mark.upperBound...]) ? wire.port : UInt16(kind.defaultPort)
            socketPath = isSocket ? try Self.socketPath(path) : nil
            (username, password) = (wire.user, wire.password)
        } catch {
            let reason =
                switch error {
                case .empty: "it is empty"
                case .relative, .unsupportedScheme:
                    "it does not begin with "
                        + Proxy.Kind.allCases.dropFirst().map { "\($0.rawValue)://" }
                        .joined(separator: ", ")
                case .malformed(let reason): reason
                }
            // In a malformed URL, any part may be a password.
            let isTellable = !text.containsBytes("@")
            throw TrellisError(.invalidURL("it is not that of a proxy: \(reason)"), url: isTellable ? text : nil)
        }
    }

    /// Returns whether the text after the scheme's mark has an IPv6 address with a zone (RFC 6874), which would be dropped.
    private static func hasZone(_ text: Substring) -> Bool {
        let authority = text.prefix(beforeBytes: "/?#")
        guard let bracket = authority.lastIndex(ofByte: "]") else { return false }
        return authority[..<bracket].lastIndex(ofByte: "[").map { authority[$0..<bracket].containsBytes("%") } ?? false
    }

    /// Returns whether the text after the scheme's mark has a port.
    private static func hasPort(_ text: Substring) -> Bool {
        let authority = text.prefix(beforeBytes: "/?#")
        let host = authority[
            (authority.lastIndex(ofByte: "@").map { authority.utf8.index(after: $0) } ?? text.startIndex)...]
        guard let colon = host.lastIndex(ofByte: ":"), colon > host.lastIndex(ofByte: "]") ?? host.startIndex else {
            return false
        }
        return host.utf8.index(after: colon) < host.endIndex
    }

    /// Returns the percent-decoded path of a socket, which the system limits to 107 bytes.
    private static func socketPath(_ path: Substring) throws(WireURL.ParseFailure) -> String {
        guard let decoded = PercentEncoding.decode(path), !decoded.utf8.contains(0) else {
            throw .malformed("the path of its socket is not percent-encoded text")
        }
        guard decoded.utf8.count <= 107 else { throw .malformed("the path of its socket is longer than 107 bytes") }
        return decoded
    }
}
