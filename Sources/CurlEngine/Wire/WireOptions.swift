private import Glibc

/// The routes and requests that the engine serves without libcurl.
extension TransferOptions {
    /// Returns whether the engine itself speaks HTTP/1.1 for the transfer.
    func isForWire(_ configuration: EngineConfiguration) -> Bool {
        guard configuration.speaksHTTP1, route.isPlain, !switchesProtocols || route.proxy == nil else { return false }
        guard url.isSecure else {
            return version == .http1 || version == .http2OverTLS || sharesStreams(configuration)
        }
        guard configuration.speaksHTTP1OverTLS || configuration.speaksHTTP2, !switchesProtocols, route.proxy == nil,
            route.parts.socket == nil, LibcurlFeatures.current.lendsSessions
        else { return false }
        return version == .http1 || sharesStreams(configuration)
    }

    /// Returns whether the engine itself speaks HTTP/2 for the transfer, if the server does.
    func sharesStreams(_ configuration: EngineConfiguration) -> Bool {
        guard configuration.speaksHTTP2, HTTP2Session.isAvailable, !switchesProtocols else { return false }
        switch version {
        case .http2OverTLS, .http2Only: return url.isSecure
        case .http2PriorKnowledge: return url.isSecure || forwardProxy == nil
        case .http1, .http3WithFallback, .http3Only: return false
        }
    }

    /// The offer of HTTP/1.1 alone (RFC 7301, section 3.1).
    static let onlyHTTP1 = "\u{8}http/1.1"

    /// The name of the pool of connections without libcurl: the ``queue``, with the route if it has one of several addresses, or the name
    /// of the proxy's pool, which serves all origins.
    var wirePool: String {
        route.pool(of: forwardProxy == nil ? queue : trust.pool(route.limitName(of: "")))
    }
}

extension Transfer {
    /// The protocols that are offered to the server in the TLS handshake.
    var offeredProtocols: String {
        let http1 = TransferOptions.onlyHTTP1
        guard options.sharesStreams(engine.configuration), !wire.mustSpeakHTTP1 else { return http1 }
        return options.version == .http2PriorKnowledge ? "\u{2}h2" : "\u{2}h2" + http1
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
    /// Returns the host and the port to which connections are made for a URL: the proxy's, if there is one. An IPv6 address has its zone.
    func target(of url: WireURL) -> (host: String, port: UInt16) {
        if let proxy { return (proxy.host, proxy.port) }
        guard let target = parts.connectTo else { return (url.hostWithZone, url.port) }
        let host = target.prefix(beforeLast: ":")
        return (String(host), UInt16(target[host.endIndex...].dropFirst()) ?? url.port)
    }

    /// The address of this machine from which connections are made, if any. An interface has no such address.
    var source: IPAddress? { parts.interface.flatMap { IPAddress($0) } }

    /// The addresses of ``target(of:)``; `nil` if they are looked up.
    var targetAddresses: [String]? { proxy == nil ? addresses : proxyAddresses }

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
