import CurlEngine

/// The addresses of a server that a SOCKS proxy is asked for.
extension Pipeline {
    /// Sends a request through a proxy. A SOCKS proxy that looks up no names is asked for one address of the server after the other, until
    /// it makes a connection. This is no retry: the server has received nothing until then.
    ///
    /// - Parameters:
    ///   - routed: The request with its way through the proxy, and with the addresses that were looked up.
    ///   - proxy: The proxy as the rule names it.
    @inline(never)
    func sendToAddresses(
        _ routed: Request, _ url: WireURL, _ proxy: Proxy, _ decision: ProxyDecision, _ permit: LimitPermit?
    ) async throws -> StepResponse {
        let routes = session.preparation.routes
        var rest = try routes.addressesInTurn(of: routed, to: url, through: proxy)[...]
        while let address = rest.popFirst() {
            do {
                let answer = try await send(routed.through(proxy, decision, to: address), permit)
                routes.didReach(address, of: routed, to: url, through: proxy)
                return answer
            } catch let error as TrellisError where !rest.isEmpty && error.isOfAddress(routed) {
                try call.checkCancellation()
            }
        }
        return try await sendAuthenticated(routed, proxy, decision, permit)
    }
}

extension Request {
    /// Returns a copy for whose server a SOCKS proxy is asked by one address.
    fileprivate func through(_ proxy: Proxy, _ decision: ProxyDecision, to address: IPAddress) -> Request {
        var addresses = extras?.extras.selected?.addresses ?? FoundAddresses()
        addresses.choice = address
        return through(proxy, decision: decision, addresses: addresses)
    }
}

extension TrellisError {
    /// Returns whether a SOCKS proxy has made no connection to an address of the server (RFC 1928, section 6), so that it may make one to
    /// another address, and the request may be sent there.
    fileprivate func isOfAddress(_ request: Request) -> Bool {
        guard case .proxyFailed(.socksRefused) = reason, request.hasReplayableBody else { return false }
        // A request that was sent on a connection that died must not be sent again, unless it may be repeated.
        return [.composing, .queued, .connecting].contains(phase) || request.mayBeRepeated
    }
}
