import CurlEngine

/// The judgement on a request before it gets a connection. The engine judges the addresses.
extension EgressPolicy {
    /// The rules for the addresses of connections.
    var rules: EgressRules {
        EgressRules(allowed: allowedNetworks.map(\.prefix), denied: deniedNetworks.map(\.prefix))
    }

    /// Returns the rule that refuses a request; `nil` if none does.
    ///
    /// - Parameters:
    ///   - route: The way of the request.
    ///   - alternative: The alternative service to which it goes, if any.
    func refusal(
        of url: WireURL, by route: TransferRoute, to alternative: AlternativeService?
    ) -> TrellisError.EgressRefusal? {
        let scheme = url.isSecure ? "https" : "http"
        guard schemes.contains(scheme) else { return .scheme(scheme) }
        if let refusal = refusal(of: url.host, port: Int(url.port)) { return refusal }
        if let alternative, let refusal = refusal(of: alternative.host, port: alternative.port) { return refusal }
        if let socket = route.parts.socket { return allowsUnixSockets ? nil : .unixSocket(socket.text) }
        guard let proxy = route.parts.proxy else { return nil }
        if !allowsUnixSockets, let socket = [proxy.first, proxy].compactMap({ $0 }).first(where: \.isSocket) {
            return .unixSocket(socket.name)
        }
        // Otherwise the engine knows the addresses that the proxies are asked for.
        if let first = proxy.first, !first.scheme.looksUpServers, let refusal = refusal(behindProxy: proxy.host) {
            return refusal
        }
        return proxy.scheme.looksUpServers ? nil : refusal(behindProxy: route.server(of: url).host)
    }

    /// Returns the rule that refuses a host for which a proxy is asked, and whose name the proxy looks up.
    private func refusal(behindProxy host: String) -> TrellisError.EgressRefusal? {
        let rules = rules
        let isLocal = host.lowercasedASCII().isLocalName
        let addresses = isLocal ? Self.loopback : IPAddress(host).map { [$0] } ?? []
        for address in addresses {
            if let network = rules.denial(of: address) { return .network(IPNetwork(network), address: "\(address)") }
        }
        let isNamed = allowedHosts?.contains { $0.matches(host) } ?? false
        let isKnown = !addresses.isEmpty || isNamed || allowsNamesThroughProxies || deniedNetworks.isEmpty
        return isKnown ? nil : .nameThroughProxy(host)
    }

    /// The addresses of `localhost` (RFC 6761, section 6.3). The proxy chooses one.
    private static let loopback = ["127.0.0.1", "::1"].compactMap { IPAddress($0) }

    private func refusal(of host: String, port: Int) -> TrellisError.EgressRefusal? {
        if let ports, !ports.contains(port) { return .port(port) }
        if let allowedHosts, !allowedHosts.contains(where: { $0.matches(host) }) { return .host(host) }
        return deniedHosts.contains { $0.matches(host) } ? .host(host) : nil
    }
}
