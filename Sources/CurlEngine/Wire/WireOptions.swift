/// The routes and requests that the engine serves without libcurl.
extension TransferOptions {
    /// Returns whether the engine itself speaks HTTP/1.1 for the transfer.
    func isForWire(_ configuration: EngineConfiguration) -> Bool {
        guard configuration.speaksHTTP1, route.isPlain, !switchesProtocols || route.proxy == nil, !url.hasZone else {
            return false
        }
        guard url.isSecure else { return version == .http1 || version == .http2OverTLS }
        guard configuration.speaksHTTP1OverTLS, !switchesProtocols, LibcurlFeatures.current.lendsSessions else {
            return false
        }
        // Without streams beside each other, HTTP/2 gains nothing.
        return version == .http1 || version == .http2OverTLS && !LibcurlFeatures.current.canMultiplex
    }
}

extension WireURL {
    /// Whether the host is an IPv6 address of one link (RFC 4007, section 6).
    fileprivate var hasZone: Bool { host.utf8.first == UInt8(ascii: "[") && host.containsBytes("%") }
}

extension TransferRoute {
    /// Returns the host and the port to which connections are made for a URL.
    func target(of url: WireURL) -> (host: String, port: UInt16) {
        guard let target = parts.connectTo else { return (url.host, url.port) }
        let host = target.prefix(beforeLast: ":")
        return (String(host), UInt16(target[host.endIndex...].dropFirst()) ?? url.port)
    }

    /// The address of this machine from which connections are made, if any.
    var source: IPAddress? { parts.interface.flatMap { IPAddress($0) } }

    /// Whether connections need nothing but TCP.
    static func isPlain(_ parts: Parts) -> Bool {
        guard parts.proxy == nil, parts.socket == nil, parts.connectTo?.containsBytes("%") != true else { return false }
        return parts.interface.map { IPAddress($0) != nil } ?? true
    }
}

extension IPAddress {
    static let loopback4 = IPAddress(known: [127, 0, 0, 1])
    static let loopback6 = IPAddress(known: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
}
