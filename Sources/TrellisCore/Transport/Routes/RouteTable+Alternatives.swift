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
}
