/// The routes and requests that the engine serves without libcurl.
extension TransferOptions {
    /// Returns whether the engine itself speaks HTTP/1.1 for the transfer.
    func isForWire(_ configuration: EngineConfiguration) -> Bool {
        guard configuration.speaksHTTP1, route.isPlain, !switchesProtocols || route.proxy == nil,
            !url.hasZone || route.isElsewhere
        else { return false }
        guard url.isSecure else { return version == .http1 || version == .http2OverTLS }
        guard configuration.speaksHTTP1OverTLS, !switchesProtocols, !route.isElsewhere,
            LibcurlFeatures.current.lendsSessions
        else { return false }
        // Without streams beside each other, HTTP/2 gains nothing.
        return version == .http1 || version == .http2OverTLS && !LibcurlFeatures.current.canMultiplex
    }

    /// The name of the pool of connections without libcurl: ``pool``, or the name of the proxy's pool, which serves all origins.
    var wirePool: String {
        guard forwardProxy != nil else { return pool }
        return route.pool(of: trust.pool(route.limitName(of: "")))
    }
}

extension WireURL {
    /// Whether the host is an IPv6 address of one link (RFC 4007, section 6).
    fileprivate var hasZone: Bool { host.utf8.first == UInt8(ascii: "[") && host.containsBytes("%") }
}

extension TransferRoute {
    /// Returns the host and the port to which connections are made for a URL: the proxy's, if there is one.
    func target(of url: WireURL) -> (host: String, port: UInt16) {
        if let proxy { return (proxy.host, proxy.port) }
        guard let target = parts.connectTo else { return (url.host, url.port) }
        let host = target.prefix(beforeLast: ":")
        return (String(host), UInt16(target[host.endIndex...].dropFirst()) ?? url.port)
    }

    /// The address of this machine from which connections are made, if any. An interface has no such address.
    var source: IPAddress? { parts.interface.flatMap { IPAddress($0) } }

    /// Whether connections are made to a proxy or to a socket.
    var isElsewhere: Bool { parts.proxy != nil || parts.socket != nil }

    /// The addresses of ``target(of:)``; `nil` if they are looked up.
    var targetAddresses: [String]? { proxy == nil ? addresses : proxyAddresses }

    /// Whether connections for plain URLs need nothing but a socket. An HTTP proxy gets the whole URL then, and makes no tunnel.
    static func isPlain(_ parts: Parts) -> Bool {
        if parts.socket != nil { return true }
        guard parts.connectTo?.containsBytes("%") != true else { return false }
        if let proxy = parts.proxy {
            guard proxy.scheme == .http, proxy.first == nil, proxy.credentials?.isDigest != true, parts.connectTo == nil
            else { return false }
        }
        return true
    }
}

extension IPAddress {
    static let loopback4 = IPAddress(known: [127, 0, 0, 1])
    static let loopback6 = IPAddress(known: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
}
