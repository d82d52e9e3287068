import CurlEngine

/// The proxies of an exchange, tried in order, with the addresses of their names.
extension Pipeline {
    /// Sends a request through the proxies that its rule names, until the connection to one of them works.
    @inline(never)
    func sendThroughProxies(_ request: Request, _ permit: LimitPermit?) async throws -> StepResponse {
        let routes = session.preparation.routes
        let url = try session.preparation.parse(request.url)
        let access = PACAccess(context: context, session: session)
        var decision = try await routes.decision(for: request, url, access)
        while true {
            let proxy = decision.proxies.first ?? .direct
            var areNamesKnown = false
            do {
                let routed = try await routed(request, to: url, through: proxy, decision)
                areNamesKnown = true
                let answer = try await send(routed, permit)
                routes.didWork(proxy, origin: URLOrigin(url))
                return answer
            } catch let error as TrellisError where error.isOfProxyConnection(request) {
                // The name that was not found in time may be the server's.
                let isOfProxy = error.isOfProxyAlone && (areNamesKnown || !error.isTimeout)
                let origin = isOfProxy ? nil : URLOrigin(url)
                routes.didFail(proxy, origin: origin, for: request, now: call.clock.now())
                // The source of a body may have been read while the connection was being made.
                guard let next = decision.afterFailure, request.body?.isReplayable ?? true else { throw error }
                try call.checkCancellation()
                decision = next
            }
        }
    }
}

extension ProxyDecision {
    private static let afterFailure = "the one before has failed"

    /// The decision about the other proxies, after the connection to the first one has failed; `nil` if there are no others.
    fileprivate var afterFailure: ProxyDecision? {
        guard proxies.count > 1 else { return nil }
        let reason = reason.hasByteSuffix(Self.afterFailure) ? reason : "\(reason); \(Self.afterFailure)"
        return ProxyDecision(proxies: Array(proxies.dropFirst()), reason: reason)
    }
}

extension TrellisError {
    /// Indicates whether no connection or tunnel was made, so that another proxy may work, and nothing was sent to the server.
    fileprivate func isOfProxyConnection(_ request: Request) -> Bool {
        // A request that was sent on a connection that died must not be sent again, unless its method is idempotent.
        guard [.composing, .queued, .connecting].contains(phase) || request.method.isIdempotent else { return false }
        return switch reason {
        case .proxyFailed(.nameResolution), .proxyFailed(.unreachable), .proxyFailed(.noTunnel): true
        case .connectionFailed, .timedOut(.connect): true
        default: false
        }
    }

    /// Indicates whether the failure has nothing to do with the server. A proxy to which there is a connection may wait for a server that
    /// does not answer, and the name of a server that is looked up here is not the proxy's.
    fileprivate var isOfProxyAlone: Bool {
        switch reason {
        case .connectionFailed(.nameResolution), .proxyFailed(.noTunnel): false
        case .timedOut(.connect): metrics.peerAddress == nil && metrics.connect == .zero
        default: true
        }
    }
}
