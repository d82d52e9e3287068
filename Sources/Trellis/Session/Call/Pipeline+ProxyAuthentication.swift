import CurlEngine

/// The choice of the scheme by which a request authenticates to its proxy (``Proxy/Authentication/any``).
extension Pipeline {
    /// Sends a request through a proxy. If the proxy refuses Basic credentials, and may want Digest, the request is sent again with Digest;
    /// the server has received nothing until then.
    ///
    /// - Parameters:
    ///   - routed: The request with its way through the proxy.
    ///   - proxy: The proxy as the rule names it.
    @inline(never)
    func sendAuthenticated(
        _ routed: Request, _ proxy: Proxy, _ decision: ProxyDecision, _ permit: LimitPermit?
    ) async throws -> StepResponse {
        guard let digest = proxy.withDigest else { return try await send(routed, permit) }
        let routes = session.preparation.routes
        var refusal: TrellisError?
        do {
            let answer = try await send(routed, permit)
            guard answer.response.asksForProxyDigest, !routes.isTunnelled(routed), routed.mayBeSentThrough(digest)
            else {
                return answer
            }
            await answer.discard(context)
        } catch let error as TrellisError where error.isOfProxyCredentials {
            guard routed.mayBeSentThrough(digest) else {
                // The proxy has changed its mind, or the credentials have changed.
                routes.setWantsDigest(proxy, false)
                throw error
            }
            refusal = error
        }
        try call.checkCancellation()
        let addresses = routed.extras?.extras.selected?.addresses ?? FoundAddresses()
        do {
            let answer = try await send(routed.through(digest, decision, addresses), permit)
            routes.setWantsDigest(proxy, true)
            return answer
        } catch let error as TrellisError where error.isOfProxyCredentials {
            // The proxy wants other credentials, and not another scheme.
            throw refusal ?? error
        }
    }
}

extension Request {
    /// Returns whether a request that a proxy has refused may be sent through the same proxy with other credentials.
    fileprivate func mayBeSentThrough(_ proxy: Proxy) -> Bool {
        extras?.extras.selected?.proxy != proxy && body?.isReplayable ?? true
    }
}

extension Response {
    /// Indicates whether the response is that of a proxy that asks for Digest authentication alone (RFC 9110, section 11.7.1).
    fileprivate var asksForProxyDigest: Bool {
        guard status.code == 407 else { return false }
        let challenges = headers[values: .proxyAuthenticate].flatMap(AuthenticationChallenge.parse)
        return challenges.contains { $0.isScheme("Digest") } && !challenges.contains { $0.isScheme("Basic") }
    }
}

extension TrellisError {
    /// Indicates whether the proxy has refused the credentials of a request for a tunnel.
    fileprivate var isOfProxyCredentials: Bool {
        guard case .proxyFailed(.unauthorized(_, _, hasCredentials: true)) = reason else { return false }
        return true
    }
}
