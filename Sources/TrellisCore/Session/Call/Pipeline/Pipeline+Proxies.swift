import CurlEngine

/// The proxies of an exchange, tried in order, with the addresses of their names.
extension Pipeline {
    /// Sends a request through the proxies that its rule names, until the connection to one of them works.
    @inline(never)
    func sendThroughProxies(_ request: Request, _ permit: LimitPermit?) async throws -> StepResponse {
        let routes = session.preparation.routes
        let url = try session.preparation.url(of: request)
        var decision = try await decision(for: request, url)
        let proxies = decision.proxies, start = call.clock.now()
        var failed: [String] = []
        while true {
            let proxy = decision.proxies.first ?? .direct
            let changes = routes.networkChanges
            var areNamesKnown = false
            do {
                let routed = try await routed(request, to: url, through: routes.authenticating(proxy), decision)
                areNamesKnown = true
                let answer = try await sendToAddresses(routed, url, proxy, decision, permit)
                routes.didWork(proxy, origin: URLOrigin(url))
                return answer
            } catch let error as TrellisError where error.isOfProxyConnection(request) {
                // The name that was not found in time may be the server's.
                let isOfProxy = error.isOfProxyAlone && (areNamesKnown || !error.isTimeout)
                let origin = isOfProxy ? nil : URLOrigin(url)
                routes.didFail(proxy, origin: origin, for: request, after: changes, now: call.clock.now())
                // The source of a body may have been read while the connection was being made.
                guard let next = decision.afterFailure, request.hasReplayableBody else {
                    if decision.afterFailure == nil, proxies.contains(.direct) {
                        routes.forgetFailures(of: proxies, origin: URLOrigin(url), since: start)
                    }
                    throw error.naming(failed)
                }
                failed.append(proxy.url)
                try call.checkCancellation()
                decision = next
            } catch  where proxy == .direct && !failed.isEmpty {
                // Nothing shows that a direct connection works where the proxies do not: the cause may be the own network.
                if !((error as? TrellisError)?.mayHaveSentBytes ?? false) {
                    routes.forgetFailures(of: proxies, origin: URLOrigin(url), since: start)
                }
                throw error
            }
        }
    }

    /// Returns the decision about the proxies of a request, for which a function or a script may be asked.
    private func decision(for request: Request, _ url: WireURL) async throws -> ProxyDecision {
        let routes = session.preparation.routes
        let access = PACAccess(context: context, session: session)
        switch routes.rule(for: request) {
        case .selecting:
            return try await result(of: .proxySelection, for: request) {
                try await routes.decision(for: request, url, access)
            }
        // A script has limits of its own.
        case .automatic: return try await noting(.script) { try await routes.decision(for: request, url, access) }
        case .direct, .always, .environment: return try await routes.decision(for: request, url, access)
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
    /// Returns the error of the last proxy with the names of the proxies that had failed before.
    fileprivate func naming(_ failed: [String]) -> TrellisError {
        guard !failed.isEmpty else { return self }
        var error = self
        let others = "before that, \(failed.joined(separator: ", ")) had failed"
        error.detail = detail.map { "\($0); \(others)" } ?? others
        return error
    }

    /// Returns whether no connection or tunnel was made, so that another proxy may work, and nothing was sent to the server.
    fileprivate func isOfProxyConnection(_ request: Request) -> Bool {
        guard !isTrustTimeout, !isUntried else { return false }
        // A request that was sent on a connection that died must not be sent again, unless it may be repeated.
        guard [.composing, .queued, .connecting].contains(phase) || request.mayBeRepeated else { return false }
        return switch reason {
        case .proxyFailed(.nameResolution), .proxyFailed(.unreachable), .proxyFailed(.noTunnel): true
        case .connectionFailed, .timedOut(.connect): true
        default: false
        }
    }

    /// Whether the failure has nothing to do with the server. A proxy to which there is a connection may wait for a server that
    /// does not answer, and the name of a server that is looked up here is not the proxy's.
    fileprivate var isOfProxyAlone: Bool {
        switch reason {
        case .connectionFailed(.nameResolution), .proxyFailed(.noTunnel): false
        case .timedOut(.connect): metrics.peerAddress == nil && metrics.connect == .zero
        default: true
        }
    }
}
