private import Synchronization

/// The way of a transfer to its server: the proxy, the socket, the address. Connections are shared by transfers of the same route only; two
/// routes with equal parts are different routes.
package final class TransferRoute: Sendable {
    /// A Unix domain socket.
    package struct Socket: Hashable, Sendable {
        /// The path in the file system, or the name in the abstract namespace of Linux, without its leading zero byte.
        package let name: String
        /// Whether the name is in the abstract namespace.
        package let isAbstract: Bool

        /// The name for messages.
        package var text: String { isAbstract ? "@\(name)" : name }

        /// Creates the address of a socket.
        package init(name: String, isAbstract: Bool) {
            self.name = name
            self.isAbstract = isAbstract
        }

        /// Returns whether the bytes of the names are the same: the system distinguishes all others.
        package static func == (one: Socket, other: Socket) -> Bool {
            one.isAbstract == other.isAbstract && one.name.hasSameBytes(as: other.name)
        }
    }

    /// The versions of IP that addresses of a name may have.
    package enum Family: Hashable, Sendable {
        /// Both versions.
        case any
        /// IPv4 only.
        case ipv4
        /// IPv6 only.
        case ipv6
    }

    /// The origin of the addresses of a name.
    package enum Addresses: Hashable, Sendable {
        /// The name is looked up.
        case lookedUp
        /// The name has these addresses, as literals without brackets.
        case fixed([String])
        /// The route has the addresses of this name from another source, which may change (``TransferRoute/setAddresses(_:of:)``).
        /// Connections to earlier addresses stay usable.
        case found(name: String)
    }

    /// The hosts of a route whose addresses may be found elsewhere.
    package enum Host: Sendable {
        /// The host to which connections are made.
        case server
        /// The proxy that is connected first.
        case proxy
        /// The HTTP proxy after a SOCKS proxy.
        case secondProxy
    }

    /// The parts of a route.
    package struct Parts: Hashable, Sendable {
        /// The proxy; `nil` for a direct connection.
        package var proxy: EngineConfiguration.ProxyServer?
        /// The socket to which all requests go; takes precedence over everything else.
        package var socket: Socket?
        /// The name of a network interface, or a literal address of this machine without brackets, from which connections are made.
        package var interface: String?
        /// The versions of IP.
        package var family = Family.any
        /// The host and port (`host:port`) to which connections are made instead of the URL's.
        package var connectTo: String?
        /// The addresses of the host to which connections are made, if its name is looked up here.
        package var addresses = Addresses.lookedUp
        /// The addresses of the proxy that is connected first.
        package var proxyAddresses = Addresses.lookedUp
        /// The addresses of an HTTP proxy after a SOCKS proxy, if its name is looked up here.
        package var secondProxyAddresses = Addresses.lookedUp

        /// Creates the parts of a direct connection.
        package init() {}

        /// Whether connections are direct.
        package var isDirect: Bool { self == Parts() }
    }

    /// The parts of the route.
    package let parts: Parts
    /// The number of the route; 0 for ``direct``.
    package let number: Int
    /// The number of the route for which connections are counted: the route with all addresses of the server, if this one has one of
    /// them; otherwise this route.
    private let limitNumber: Int
    /// Whether connections need nothing but TCP.
    let isPlain: Bool
    /// The proofs for requests for a tunnel; `nil` if libcurl makes them, or there are none.
    let proofs: (any TunnelProofs)?
    /// The last addresses of names whose addresses are ``Addresses/found(name:)``.
    private let found = Locked<(server: [String], proxy: [String], secondProxy: [String])>(([], [], []))

    private static let count = Atomic(0)

    /// A direct connection.
    package static let direct = TransferRoute(Parts(), number: 0, limitNumber: 0)

    /// Creates a route. Its connections serve no other route.
    ///
    /// - Parameters:
    ///   - whole: The route with all addresses of the server, if this one has one of them: the two share limits.
    ///   - proofs: The proofs for requests for a tunnel, if the proxy needs some (``EngineConfiguration/ProxyServer/needsProofs``).
    package convenience init(_ parts: Parts, of whole: TransferRoute? = nil, proofs: (any TunnelProofs)? = nil) {
        let number = Self.count.add(1, ordering: .relaxed).newValue
        self.init(parts, number: number, limitNumber: whole?.limitNumber ?? number, proofs)
    }

    private init(_ parts: Parts, number: Int, limitNumber: Int, _ proofs: (any TunnelProofs)? = nil) {
        self.parts = parts
        isPlain = Self.isPlain(parts)
        self.number = number
        self.limitNumber = limitNumber
        self.proofs = proofs
    }

    /// The proxy; `nil` for connections without one. Requests to a socket go through no proxy.
    var proxy: EngineConfiguration.ProxyServer? { parts.socket == nil ? parts.proxy : nil }

    /// The host of the HTTPS proxy, if any.
    package var secureProxyHost: String? { proxy.flatMap { $0.scheme == .https ? $0.host : nil } }

    /// Whether the route has only one of the addresses of its server, and shares the limits of the route that has all of them.
    var hasOneOfSeveralAddresses: Bool { number != limitNumber }

    /// Returns the name by which connections to an origin on this route are counted. The name has no blank.
    package func limitName(of origin: String) -> String {
        limitNumber == 0 ? origin : "\(origin)|route-\(limitNumber)"
    }

    /// Returns whether a queue is the one of an origin by a route (``TransferOptions/queue``), whatever its rules of TLS and its protocol.
    static func isQueue(_ queue: String, of origin: String, by route: Int) -> Bool {
        let prefix = "\(origin)|route-\(route)"
        guard queue.hasBytePrefix(prefix) else { return false }
        // Another route may have a number that begins with the same digits.
        return queue.utf8.dropFirst(prefix.utf8.count).first.map { !(0x30...0x39 ~= $0) } ?? true
    }

    /// Returns the name of the pool of connections that are counted by a name.
    func pool(of limitName: String) -> String {
        hasOneOfSeveralAddresses ? "\(limitName)\(Self.addressMark)\(number)" : limitName
    }

    /// Returns the beginning of the names of the pools of single addresses whose connections are counted by a name.
    static func poolPrefix(ofAddressesIn limitName: String) -> String { limitName + addressMark }

    /// The text between the name by which connections are counted and the number of the route to an address.
    private static let addressMark = "|address-"

    /// Sets the addresses for new connections of a route whose addresses are ``Addresses/found(name:)``.
    package func setAddresses(_ addresses: [String], of host: Host = .server) {
        found.withLock { found in
            switch host {
            case .server: found.server = addresses
            case .proxy: found.proxy = addresses
            case .secondProxy: found.secondProxy = addresses
            }
        }
    }

    /// The proxy that is connected first, if any.
    var firstProxy: EngineConfiguration.ProxyServer? { proxy.map { $0.first ?? $0 } }

    /// The HTTP proxy after a SOCKS proxy, if its name is looked up here: the SOCKS proxy wants an address. `nil` if there is none.
    var secondProxy: EngineConfiguration.ProxyServer? {
        proxy.flatMap { $0.first?.scheme.looksUpServers == true ? $0 : nil }
    }

    /// The addresses of the host to which connections are made; `nil` if they are looked up.
    var addresses: [String]? {
        switch parts.addresses {
        case .lookedUp: nil
        case .fixed(let addresses): addresses
        case .found: found.withLock { $0.server }
        }
    }

    /// The addresses of the proxy that is connected first; `nil` if they are looked up.
    var proxyAddresses: [String]? {
        switch parts.proxyAddresses {
        case .lookedUp: nil
        case .fixed(let addresses): addresses
        case .found: found.withLock { $0.proxy }
        }
    }

    /// The addresses of the HTTP proxy after a SOCKS proxy; `nil` if they are looked up, here or by the SOCKS proxy.
    var secondProxyAddresses: [String]? {
        switch parts.secondProxyAddresses {
        case .lookedUp: nil
        case .fixed(let addresses): addresses
        case .found: found.withLock { $0.secondProxy }
        }
    }

    /// Returns the name of the lookup for a transfer to a URL: the host and port, and the version of IP if only one is looked
    /// up. `nil` if no name is.
    func lookedUpName(for url: WireURL) -> String? {
        name(for: url).map { parts.family == .any ? $0 : "\($0) \(parts.family)" }
    }

    /// Returns the host whose name is looked up for a transfer to a URL, if one is (``lookedUpName(for:)``).
    func lookedUpHost(for url: WireURL) -> String {
        if parts.socket == nil, let next = firstProxy, !next.isAddress, parts.proxyAddresses == .lookedUp {
            return next.host
        }
        return parts.connectTo.map { String($0.prefix(beforeLast: ":")) } ?? url.host
    }

    private func name(for url: WireURL) -> String? {
        guard parts.socket == nil else { return nil }
        if let proxy = parts.proxy {
            let next = proxy.first ?? proxy
            if !next.isAddress, parts.proxyAddresses == .lookedUp { return next.name }
            guard proxy.scheme.looksUpServers else { return nil }
        }
        guard parts.addresses == .lookedUp else { return nil }
        if let target = parts.connectTo { return String(target.prefix(beforeLast: ":")).isAddress ? nil : target }
        return url.isAddress ? nil : url.origin
    }
}

extension String {
    func prefix(beforeLast mark: Unicode.Scalar) -> Substring {
        self[..<(lastIndex(ofByte: mark) ?? endIndex)]
    }
}
