import CurlEngine

/// A host and port to which connections are made instead of the URL's.
///
/// ```swift
/// try ConnectTo("www.example.com:443:edge.example.net:8443")  // as in curl's option --connect-to
/// try ConnectTo("::[::1]:8080")                               // everything to one server
/// try ConnectTo("example.com::staging.example.com:")          // every port of a host, to the same port of another one
/// ```
///
/// An empty host is any host, and an empty port any port. Hosts are compared without regard to case and to a dot at their end; an
/// international name is the same in Unicode and in its ASCII form.
public struct ConnectTo: Sendable, Hashable, CustomStringConvertible {
    /// The host of the URLs that match, in lower case and in ASCII form, with IPv6 addresses in brackets; `nil` if any host matches.
    public let host: String?
    /// The port of the URLs that match; `nil` if any port matches.
    public let port: Int?
    /// The host of the connection; `nil` for the URL's.
    public let targetHost: String?
    /// The port of the connection; `nil` for the URL's.
    public let targetPort: Int?

    /// Creates an entry from its parts.
    ///
    /// - Parameters:
    ///   - host: The host of the URLs that match; any host if `nil`.
    ///   - port: The port of the URLs that match; any port if `nil`.
    ///   - targetHost: The host of the connection, an address or a name; the URL's if `nil`.
    ///   - targetPort: The port of the connection; the URL's if `nil`.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` for a host that no URL can have, or a port that is not in
    ///   1…65535.
    public init(
        host: String? = nil, port: Int? = nil, targetHost: String? = nil, targetPort: Int? = nil
    ) throws(TrellisError) {
        self.host = try host.map(RouteText.host)
        self.port = try port.map(RouteText.port)
        self.targetHost = try targetHost.map(RouteText.host)
        self.targetPort = try targetPort.map(RouteText.port)
    }

    /// Reads the text `HOST:PORT:HOST:PORT`, in which each part may be empty. IPv6 addresses are in brackets.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` for a text of another form.
    public init(_ text: String) throws(TrellisError) {
        var rest = text[...]
        var parts: [Substring] = []
        for index in 0..<4 {
            guard let part = RouteText.part(&rest, isLast: index == 3) else {
                throw TrellisError.invalidRoute("'\(text)' does not have the form HOST:PORT:HOST:PORT")
            }
            parts.append(part)
        }
        host = try parts[0].isEmpty ? nil : RouteText.host(parts[0])
        port = try parts[1].isEmpty ? nil : RouteText.port(parts[1])
        targetHost = try parts[2].isEmpty ? nil : RouteText.host(parts[2])
        targetPort = try parts[3].isEmpty ? nil : RouteText.port(parts[3])
    }

    /// Creates the entry that leads from a URL's host and port to an endpoint.
    init(_ endpoint: Endpoint, of url: WireURL) {
        (host, port) = (url.host.lowercasedASCII(), Int(url.port))
        (targetHost, targetPort) = (endpoint.host, endpoint.port)
    }

    /// Returns whether the connection of a URL with this host and port has another one.
    func matches(host: String, port: Int) -> Bool {
        if let own = self.port, own != port { return false }
        guard let own = self.host else { return true }
        return own.withoutFinalDot.hasSameBytes(as: host.withoutFinalDot)
    }

    /// The text `HOST:PORT:HOST:PORT`.
    public var description: String {
        let ports = [port, targetPort].map { $0.map { "\($0)" } ?? "" }
        return "\(host ?? ""):\(ports[0]):\(targetHost ?? ""):\(ports[1])"
    }
}

/// The texts that make up the parts of a route.
enum RouteText {
    /// Returns the text before the next colon outside of brackets, and removes both from `rest`; `nil` if there is no such colon, unless
    /// the part is the last one, which ends with the text.
    static func part(_ rest: inout Substring, isLast: Bool) -> Substring? {
        var end = rest.startIndex
        if rest.utf8.first == UInt8(ascii: "[") {
            guard let bracket = rest.firstIndex(ofByte: "]") else { return nil }
            end = rest.utf8.index(after: bracket)
        }
        let colon = rest[end...].firstIndex(ofByte: ":")
        if isLast {
            defer { rest = rest[rest.endIndex...] }
            return colon == nil ? rest : nil
        }
        guard let colon else { return nil }
        defer { rest = rest[rest.utf8.index(after: colon)...] }
        return rest[..<colon]
    }

    /// Returns a host as it is in a URL that was parsed: in lower case and in ASCII form, with IPv6 addresses in brackets.
    static func host(_ text: some StringProtocol) throws(TrellisError) -> String {
        let text = String(text)
        let isPlain = text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && !"/?#@\\%".utf8.contains($0) }
        let hasColon = text.containsBytes(":") && !text.hasBytePrefix("[")
        // An IPv6 address without brackets.
        let literal = hasColon ? IPAddress(text).map { "[\($0)]" } : nil
        guard isPlain, !hasColon || literal != nil,
            let url = try? WireURL(parsing: "http://\(literal ?? text)/")
        else { throw .invalidRoute("'\(text)' is not a host") }
        return url.host.lowercasedASCII()
    }

    /// Returns a port.
    static func port(_ digits: Substring) throws(TrellisError) -> Int {
        guard digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let port = Int(digits) else {
            throw .invalidRoute("'\(digits)' is not a port")
        }
        return try self.port(port)
    }

    /// Returns a port that is in its range.
    static func port(_ port: Int) throws(TrellisError) -> Int {
        guard 1...65535 ~= port else { throw .invalidRoute("\(port) is not a port") }
        return port
    }
}

extension TrellisError {
    /// Returns the error for a part of a route that cannot be used.
    static func invalidRoute(_ reason: String) -> TrellisError { TrellisError(.invalidRequest(.route(reason))) }
}
