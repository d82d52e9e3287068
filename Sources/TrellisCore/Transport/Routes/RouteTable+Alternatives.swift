import CurlEngine

extension RouteTable {
    /// Returns the route of an exchange to an alternative service of its origin (RFC 7838, section 2.4). The certificate must still be for
    /// the name of the origin.
    func route(_ route: TransferRoute, to service: AlternativeService, of url: WireURL) -> TransferRoute {
        // Even on the host and port of the origin, the route has separate connections, so that requests over TCP do not wait for QUIC.
        var parts = route.parts
        parts.connectTo = service.authority
        return pooled(parts)
    }

    /// Returns whether a request goes directly to the host and port of its URL, to addresses that are looked up, so that it may go to an
    /// alternative service as well.
    func allowsAlternatives(to url: WireURL, of request: Request) -> Bool {
        let way = request.extras?.extras.route ?? route
        guard way.connectTo.isEmpty, way.addresses.isEmpty, !mustSelect(for: request),
            let parts = try? route(to: url, of: request).route.parts
        else { return false }
        return parts.proxy == nil && parts.socket == nil
    }

    // MARK: Endpoints

    /// Returns the route of a request that leads to an endpoint of its origin. Everything else of the route stays.
    func route(to endpoint: Endpoint, of url: WireURL, _ request: Request) -> Route {
        var way = request.route ?? route
        // No other entry matches: the request would have another destination.
        way.connectTo.insert(ConnectTo(endpoint, of: url), at: 0)
        return way
    }

    /// Returns the numbers of the routes that lead to some endpoints of an origin.
    func numbers(to endpoints: [Endpoint], of url: WireURL) -> Set<Int> {
        numbers(
            connectingTo: Set(
                endpoints.map {
                    "\(RouteTarget(host: $0.host, port: $0.port.map { UInt16(clamping: $0) } ?? url.port))"
                }))
    }

    /// Returns the endpoints at the addresses of a name, from the session's resolver or else the system.
    ///
    /// - Throws: The error of the resolver; `CancellationError` in a cancelled task.
    func endpoints(named name: String, port: Int?, clock: any EngineClock) async throws -> [Endpoint] {
        let host = try RouteText.host(name)
        if let address = IPAddress(host) { return [Endpoint(address, port: port)] }
        let family = try route.connectionFamily()
        let addresses = try await ownNames.addresses(of: host, family, clock: clock)
        let usable = addresses.filter { $0.isOf(family) }
        guard !usable.isEmpty else {
            throw TrellisError(.connectionFailed(.nameResolution("\(host) has no address that can be used")))
        }
        return usable.map { Endpoint($0, port: port) }
    }
}
