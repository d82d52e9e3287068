import CCurl
private import Glibc

/// The connections that a transfer needs.
extension TransferOptions {
    /// Whether the transfer goes over TCP, and not over HTTP/3. If HTTP/3 is preferred, that is so until a race is decided
    /// (``HTTP3Races``).
    var isForWire: Bool { version != .http3Only }

    /// Whether HTTP/3 and TCP race for the transfer. HTTP/3 needs UDP, which proxies do not forward.
    var racesHTTP3: Bool {
        version == .http3WithFallback && LibcurlFeatures.current.hasHTTP3 && url.isSecure && route.proxy == nil
            && route.unixSocket == nil && mayConnect && connectionCount == nil
    }

    /// The options of a transfer that makes an HTTP/3 connection for this one.
    var probe: TransferOptions {
        TransferOptions(
            url: url, route: route, trust: trust, method: "GET", version: .http3Only, connectLimit: connectLimit,
            readsCertificates: readsCertificates, rank: rank)
    }

    /// Whether HTTP/2 is spoken, or nothing.
    var demandsHTTP2: Bool { version == .http2Only || version == .http2PriorKnowledge }

    /// Whether libcurl makes the connection ready after the engine has connected its socket: by handshakes with proxies, or of TLS.
    var needsHandshake: Bool { url.isSecure || !route.isPlain || switchesProtocols && route.proxy != nil }

    /// Whether the server is reached through a tunnel that an HTTP proxy makes.
    var hasTunnel: Bool { route.proxy?.scheme.isSOCKS == false && forwardProxy == nil }

    /// Whether HTTP/2 is spoken for the transfer, if the server does so.
    var sharesStreams: Bool {
        guard EngineConfiguration.sharesConnections, !switchesProtocols || isExtendedConnect else { return false }
        switch version {
        case .http2OverTLS, .http2Only, .http3WithFallback: return url.isSecure
        case .http2PriorKnowledge: return url.isSecure || forwardProxy == nil
        case .http1, .http3Only: return false
        }
    }

    /// Whether the request asks for a stream that carries another protocol (RFC 8441), and not for a connection.
    var isExtendedConnect: Bool { switchesProtocols && (version == .http2Only || version == .http2PriorKnowledge) }

    /// Returns the protocols that are offered to the server in the TLS handshake.
    ///
    /// - Parameter mustSpeakHTTP1: Whether the server has refused HTTP/2.
    func offeredProtocols(mustSpeakHTTP1: Bool) -> String {
        guard !mustSpeakHTTP1, sharesStreams else { return Self.onlyHTTP1 }
        return version == .http2PriorKnowledge ? "\u{2}h2" : "\u{2}h2" + Self.onlyHTTP1
    }

    /// The offer of HTTP/1.1 alone (RFC 7301, section 3.1).
    static let onlyHTTP1 = "\u{8}http/1.1"

    /// The name of the pool of connections over TCP: the ``queue``, with the route if it is of several addresses, or the name of the
    /// proxy's pool, which serves all origins.
    var wirePool: String {
        route.pool(of: forwardProxy == nil ? queue : trust.pool(route.limitName(of: "")))
    }
}

extension WireURL {
    /// The host, with the zone of an IPv6 address, if any.
    fileprivate var hostWithZone: String {
        guard host.utf8.first == UInt8(ascii: "["), let start = text.firstIndex(ofByte: "["),
            let end = text.firstIndex(ofByte: "]")
        else { return host }
        return String(text[start...end])
    }
}

extension TransferRoute {
    /// Returns the host and the port to which connections are made for a URL: the first proxy's, if there is one. An IPv6 address has its
    /// zone.
    func target(of url: WireURL) -> (host: String, port: UInt16) {
        firstProxy.map { ($0.host, $0.port) } ?? server(of: url)
    }

    /// Returns the host and the port of the server for a URL.
    package func server(of url: WireURL) -> (host: String, port: UInt16) {
        guard let target = parts.connectTo else { return (url.hostWithZone, url.port) }
        let host = target.prefix(beforeLast: ":")
        return (String(host), UInt16(target[host.endIndex...].dropFirst()) ?? url.port)
    }

    /// The address of this machine from which connections are made, if any. An interface has no such address.
    var source: IPAddress? { parts.interface.flatMap { IPAddress($0) } }

    /// The addresses of ``target(of:)``; `nil` if they are looked up.
    var targetAddresses: [String]? { proxy == nil ? addresses : proxyAddresses }

    /// Whether a SOCKS proxy wants an address instead of a name.
    var sendsAddress: Bool { firstProxy?.scheme.looksUpServers == true }

    /// Returns the host whose address a SOCKS proxy wants, and the addresses if they are not looked up.
    func farTarget(of url: WireURL) -> (host: String, addresses: [String]?) {
        secondProxy.map { ($0.host, secondProxyAddresses) } ?? (server(of: url).host, addresses)
    }

    /// The Unix domain socket to which connections are made, if any.
    var unixSocket: Socket? {
        parts.socket ?? firstProxy.flatMap { $0.isSocket ? Socket(name: $0.name, isAbstract: false) : nil }
    }

    /// Whether the engine connects the sockets of handshakes, and not libcurl.
    var isConnectedByEngine: Bool { unixSocket == nil || LibcurlFeatures.current.takesConnectedSockets }

    /// Opens a socket to an address, which is connected unless the port is 0. Returns the socket or a negative error, and whether the
    /// source of the route is the reason.
    func open(_ address: IPAddress, _ port: UInt16, sendingLimit: UInt32) -> (socket: Int32, isSource: Bool) {
        let source = source?.bytes ?? []
        var isSource = false
        let socket = unsafe address.bytes.withUnsafeBufferPointer { bytes in
            unsafe source.withUnsafeBufferPointer { source in
                guard let start = bytes.baseAddress else { return -EAFNOSUPPORT }
                return unsafe ccurl_tcp_connect(
                    start, bytes.count, address.scope, port, source.baseAddress, source.count,
                    source.isEmpty ? parts.interface : nil, sendingLimit, &isSource)
            }
        }
        return (socket, isSource)
    }

    /// Whether connections for plain URLs need nothing but a socket. An HTTP proxy gets the whole URL then, and makes no tunnel.
    static func isPlain(_ parts: Parts) -> Bool {
        if parts.socket != nil { return true }
        guard let proxy = parts.proxy else { return true }
        return proxy.scheme == .http && proxy.first == nil && proxy.credentials?.isDigest != true
            && parts.connectTo == nil
    }
}

extension IPAddress {
    /// Reads an address as ``init(_:)`` does, with the scope that its zone names: an interface or its number (RFC 4007, section 11). In a
    /// URL, the zone follows `%25` (RFC 6874, section 2).
    init?(zoned text: String) {
        self.init(text)
        guard isIPv6, let mark = text.firstIndex(ofByte: "%") else { return }
        var zone = text[mark...].dropFirst().prefix { $0 != "]" }
        if zone.hasBytePrefix("25"), zone.utf8.count > 2 { zone = zone.dropFirst(2) }
        let index = unsafe if_nametoindex(String(zone))
        // No interface has the largest number.
        scope = index > 0 ? index : UInt32(zone) ?? .max
    }

    static let loopback4 = IPAddress(known: [127, 0, 0, 1])
    static let loopback6 = IPAddress(known: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
}
