import CurlEngine

/// The way of one exchange, as the engine takes it.
extension Route {
    /// Returns the parts of the way to the server of a URL.
    ///
    /// - Parameters:
    ///   - isSeparate: Whether the route has another source than the session's, so that the addresses of names are found for it alone.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` if the parts of the route do not go with each other or with
    ///   the URL; of kind ``TrellisError/Kind/dns`` if a name has only addresses of another version of IP.
    func parts(
        to url: WireURL, through proxy: Proxy, isSeparate: Bool = false
    ) throws(TrellisError) -> TransferRoute.Parts {
        var parts = TransferRoute.Parts()
        if let unixSocket {
            parts.socket = TransferRoute.Socket(name: unixSocket.name, isAbstract: unixSocket.isAbstract)
            return parts
        }
        let family = try connectionFamily()
        parts.proxy = proxy.engine
        parts.interface = source?.name
        parts.family = family.engine
        let target = target(of: url)
        if target != RouteTarget(url) { parts.connectTo = target.description }
        if let next = proxy.nextHop {
            let host = next.host.lowercasedASCII()
            let known = addresses.find(host, Int(next.port))
            parts.proxyAddresses = try Self.addresses(known, of: host, family, isSeparate: isSeparate, isProxy: true)
        }
        if let second = proxy.secondHop, IPAddress(second.host) == nil {
            let host = second.host.lowercasedASCII()
            if let known = addresses.find(host, Int(second.port)) {
                parts.secondProxyAddresses = .fixed(try Self.usable(known, of: host, family))
            }
        }
        guard parts.proxy?.looksUpServers ?? true else { return parts }
        // The engine has the same addresses for these names, and would ask a SOCKS proxy for the first one alone.
        let local = proxy.looksUpServers && target.host.isLocalName ? Self.loopback : nil
        let known = addresses.find(target.host, Int(target.port)) ?? local
        parts.addresses = try Self.addresses(known, of: target.host, family, isSeparate: isSeparate)
        return parts
    }

    /// Returns the host and port to which the connection of a URL is made.
    func target(of url: WireURL) -> RouteTarget {
        let own = RouteTarget(url)
        guard let entry = connectTo.first(where: { $0.matches(host: own.host, port: Int(own.port)) }) else {
            return own
        }
        return RouteTarget(
            host: entry.targetHost ?? own.host, port: entry.targetPort.map { UInt16(clamping: $0) } ?? own.port)
    }

    /// Returns the versions of IP for connections: the route's, or the version of its source address.
    func connectionFamily() throws(TrellisError) -> AddressFamily {
        guard let source, source.family != .any else { return addressFamily }
        guard addressFamily == .any || addressFamily == source.family else {
            throw .invalidRoute("the route allows only \(addressFamily.title), and its source is \(source)")
        }
        return source.family
    }

    /// Returns the origin of a host's addresses, after a check that they are of the right version of IP.
    private static func addresses(
        _ known: [IPAddress]?, of host: String, _ family: AddressFamily, isSeparate: Bool, isProxy: Bool = false
    ) throws(TrellisError) -> TransferRoute.Addresses {
        if let known { return .fixed(try usable(known, of: host, family)) }
        if isSeparate, host.isLocalName { return .fixed(try usable(loopback, of: host, family)) }
        guard let address = IPAddress(host) else { return .lookedUp }
        guard address.isOf(family) else {
            let peer = isProxy ? "proxy" : "host"
            throw .invalidRoute("the route allows only \(family.title), and the \(peer) is \(address)")
        }
        return isSeparate ? .fixed([address.description]) : .lookedUp
    }

    /// The addresses of `localhost` (RFC 6761, section 6.3).
    private static let loopback = ["::1", "127.0.0.1"].compactMap { IPAddress($0) }

    /// Returns the addresses of a host that are of a version of IP, as literals without brackets.
    static func usable(
        _ addresses: [IPAddress], of host: String, _ family: AddressFamily
    ) throws(TrellisError) -> [String] {
        let usable = addresses.filter { $0.isOf(family) }
        guard !usable.isEmpty else {
            throw TrellisError(.connectionFailed(.nameResolution("\(host) has no address of \(family.title)")))
        }
        return usable.map(\.description)
    }
}

/// The host and port to which a connection is made.
struct RouteTarget: Hashable, CustomStringConvertible {
    /// The host in lower case, with IPv6 addresses in brackets.
    let host: String
    let port: UInt16

    init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Creates the target of a URL itself.
    init(_ url: WireURL) { self.init(host: url.host.lowercasedASCII(), port: url.port) }

    var description: String { "\(host):\(port)" }
}

extension Proxy {
    /// The proxy that is connected first, if its name may have to be looked up; `nil` for a direct connection and for a socket.
    var nextHop: EngineConfiguration.ProxyServer? {
        guard let next = engine.map({ $0.first ?? $0 }), !next.isSocket else { return nil }
        return next
    }

    /// Whether the proxy is a SOCKS proxy that wants addresses of servers, whose names are looked up here.
    var looksUpServers: Bool { engine?.looksUpServers == true }

    /// The HTTP proxy after a SOCKS proxy that wants its address, so that its name may have to be looked up, if any.
    var secondHop: EngineConfiguration.ProxyServer? {
        guard let engine, engine.first?.looksUpServers == true else { return nil }
        return engine
    }
}

extension EngineConfiguration.ProxyServer {
    /// Whether the name of the server is looked up here.
    var looksUpServers: Bool { scheme.looksUpServers }
}

extension AddressFamily {
    fileprivate var engine: TransferRoute.Family {
        switch self {
        case .any: .any
        case .ipv4: .ipv4
        case .ipv6: .ipv6
        }
    }

    /// The name of the protocol.
    fileprivate var title: String {
        switch self {
        case .any: "IPv4 and IPv6"
        case .ipv4: "IPv4"
        case .ipv6: "IPv6"
        }
    }
}
