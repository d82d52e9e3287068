import CurlEngine

/// The addresses of an exchange, from the session's resolver.
extension Pipeline {
    /// Returns a request that is sent through a proxy, with the addresses that the session's resolver has for it.
    func routed(
        _ request: Request, to url: WireURL, through proxy: Proxy, _ decision: ProxyDecision
    ) async throws -> Request {
        let routes = session.preparation.routes
        let known = try routes.knownAddresses(for: request, to: url, through: proxy, now: call.clock.now())
        if let known { return request.through(proxy, decision, known) }
        return request.through(proxy, decision, try await found(request, url, proxy))
    }

    /// Asks the resolver, within the limit on connecting.
    @inline(never)
    private func found(_ request: Request, _ url: WireURL, _ proxy: Proxy) async throws -> FoundAddresses {
        let limit = session.preparation.limits(of: request, delivery: call.delivery).connect
        guard let limit else { return try await find(request, url, proxy) }
        return try await withThrowingTaskGroup(of: FoundAddresses?.self) { group in
            group.addTask { try await self.find(request, url, proxy) }
            group.addTask {
                try await self.context.wait(for: .nanoseconds(limit))
                return nil
            }
            defer { group.cancelAll() }
            if let first = try await group.next(), let found = first { return found }
            var error = TrellisError(.timedOut(.connect), phase: .connecting)
            error.detail = "the resolver has not found the addresses of \(url.host)"
            throw error
        }
    }

    private func find(_ request: Request, _ url: WireURL, _ proxy: Proxy) async throws -> FoundAddresses {
        try await session.preparation.routes.findAddresses(for: request, to: url, through: proxy, clock: call.clock)
    }
}
