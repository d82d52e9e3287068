import CurlEngine

/// The addresses of an exchange, from the session's resolver.
extension Pipeline {
    /// Returns a request that is sent through a proxy, with the addresses that the session's resolver has for it.
    func routed(
        _ request: Request, to url: WireURL, through proxy: Proxy, _ decision: ProxyDecision
    ) async throws -> Request {
        let routes = session.preparation.routes
        let known = try routes.knownAddresses(for: request, to: url, through: proxy, now: call.clock.now())
        if let known { return request.through(proxy, decision: decision, addresses: known) }
        let clock = call.clock
        let found = try await result(of: .resolver(host: url.host), for: request) {
            try await routes.findAddresses(for: request, to: url, through: proxy, clock: clock) { kind in
                self.tell { kind }
            }
        }
        return request.through(proxy, decision: decision, addresses: found)
    }
}
