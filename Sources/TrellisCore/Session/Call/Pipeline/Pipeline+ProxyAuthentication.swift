import CurlEngine
import FoundationEssentials

/// The choice of the scheme by which a request authenticates to its proxy (``Proxy/Authentication/any``).
extension Pipeline {
    /// Sends a request through a proxy. If the proxy refuses Basic credentials, and may want Digest, the request is sent again with Digest;
    /// the server has received nothing until then.
    ///
    /// A challenge to a request without a tunnel may also be that of a server or of a further proxy, passed on (RFC 9110, section 11.7.1).
    /// It is the response if the proxy makes no tunnel.
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
        var challenge: StepResponse?
        do {
            let answer = try await send(routed, permit)
            guard answer.response.asksForProxyDigest, !routes.isTunnelled(routed), routed.mayBeSentThrough(digest)
            else {
                return answer
            }
            challenge = await answer.inMemory(context)
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
            let answer = try await send(routed.through(digest, decision: decision, addresses: addresses), permit)
            routes.setWantsDigest(proxy, true)
            return answer
        } catch let error as TrellisError where error.isOfRefusedTunnel {
            if let challenge { return challenge }
            // The proxy wants other credentials, and not another scheme.
            throw error.isOfProxyCredentials ? refusal ?? error : error
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
    /// Whether the response is that of a proxy that asks for Digest authentication alone (RFC 9110, section 11.7.1).
    fileprivate var asksForProxyDigest: Bool {
        guard status.code == 407 else { return false }
        let challenges = headers[values: .proxyAuthenticate].flatMap(AuthenticationChallenge.parse)
        return challenges.contains { $0.isScheme("Digest") } && !challenges.contains { $0.isScheme("Basic") }
    }
}

extension StepResponse {
    /// The number of bytes of a challenge that are kept.
    private static let memoryLimit = 64 << 10
    /// The time in which these bytes have to arrive.
    private static let memoryTimeout = Duration.seconds(1)

    /// Returns the response with its whole body in memory, so that its connection is free for another request; `nil` if the body was cut
    /// off, because it is long or slow.
    fileprivate func inMemory(_ context: CallContext) async -> StepResponse? {
        guard case .source(let token) = content else { return self }
        defer { token.source.cancel(explicitly: false) }
        return await withTaskGroup(of: StepResponse?.self) { group -> StepResponse? in
            group.addTask { try? await readToEnd(token) }
            group.addTask {
                try? await context.pause(for: Self.memoryTimeout)
                return nil
            }
            let first = await group.next()
            group.cancelAll()
            return first ?? nil
        }
    }

    private func readToEnd(_ token: TransferToken) async throws -> StepResponse? {
        var body = Data()
        while let chunk = try await token.source.next() {
            guard body.count + chunk.count <= Self.memoryLimit else { return nil }
            body.append(chunk)
        }
        return replacing(try await token.source.finalResponse(), .data(body))
    }
}

extension TrellisError {
    /// Whether the proxy has made no tunnel, and has sent a response that says so.
    fileprivate var isOfRefusedTunnel: Bool {
        switch reason {
        case .proxyFailed(.unauthorized), .proxyFailed(.refused): true
        default: false
        }
    }

    /// Whether the proxy has refused the credentials of a request for a tunnel.
    fileprivate var isOfProxyCredentials: Bool {
        guard case .proxyFailed(.unauthorized(_, _, hasCredentials: true)) = reason else { return false }
        return true
    }
}
