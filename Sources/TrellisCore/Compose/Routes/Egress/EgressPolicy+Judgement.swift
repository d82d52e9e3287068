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
        // Otherwise the engine knows the address that the proxy is asked for.
        guard !proxy.scheme.looksUpServers else { return nil }
        let host = route.server(of: url).host
        if let address = IPAddress(host) {
            return rules.denial(of: address).map { .network(IPNetwork($0), address: "\(address)") }
        }
        let isNamed = allowedHosts?.contains { $0.matches(host) } ?? false
        return isNamed || allowsNamesThroughProxies || deniedNetworks.isEmpty ? nil : .nameThroughProxy(host)
    }

    private func refusal(of host: String, port: Int) -> TrellisError.EgressRefusal? {
        if let ports, !ports.contains(port) { return .port(port) }
        if let allowedHosts, !allowedHosts.contains(where: { $0.matches(host) }) { return .host(host) }
        return deniedHosts.contains { $0.matches(host) } ? .host(host) : nil
    }
}
