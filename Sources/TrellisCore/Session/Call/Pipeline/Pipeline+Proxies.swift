import CurlEngine

/// The proxies of an exchange, tried in order, with the addresses of their names, and the addresses of a server that a SOCKS proxy is asked
/// for.
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

    /// Returns a request that is sent through a proxy, with the addresses that the session's resolver has for it.
    private func routed(
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

    /// Sends a request through a proxy. A SOCKS proxy that looks up no names is asked for one address of the server after the other, until
    /// it makes a connection. This is no retry: the server has received nothing until then.
    ///
    /// - Parameters:
    ///   - routed: The request with its way through the proxy, and with the addresses that were looked up.
    ///   - proxy: The proxy as the rule names it.
    @inline(never)
    private func sendToAddresses(
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

    /// Returns the decision about the proxies of a request, for which a function or a script may be asked.
    private func decision(for request: Request, _ url: WireURL) async throws -> ProxyDecision {
        let routes = session.preparation.routes
        let access = ScriptAccess(context: context, session: session)
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
