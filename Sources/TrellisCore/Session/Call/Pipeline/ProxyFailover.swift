import CurlEngine
import FoundationEssentials

/// The way of one exchange through the proxies of its rule: the proxies in order, with the addresses of their names; the addresses of a
/// server that a SOCKS proxy is asked for; the scheme by which the request authenticates to its proxy.
struct ProxyFailover {
    private let pipeline: Pipeline
    private let routes: RouteTable
    private let url: WireURL
    private let permit: LimitPermit?

    private var call: Call { pipeline.call }

    init(_ request: Request, in pipeline: Pipeline, _ permit: LimitPermit?) throws {
        self.pipeline = pipeline
        self.permit = permit
        routes = pipeline.session.preparation.routes
        url = try pipeline.session.preparation.url(of: request)
    }

    /// Sends a request through the proxies that its rule names, until the connection to one of them works.
    func send(_ request: Request) async throws -> StepResponse {
        var decision = try await decision(for: request)
        let proxies = decision.proxies, start = call.clock.now()
        var failed: [String] = []
        while true {
            let proxy = decision.proxies.first ?? .direct
            let changes = routes.networkChanges
            var areNamesKnown = false
            do {
                let routed = try await routed(request, through: routes.authenticating(proxy), decision)
                areNamesKnown = true
                let answer = try await sendToAddresses(routed, through: proxy, decision)
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
    private func decision(for request: Request) async throws -> ProxyDecision {
        let access = ScriptAccess(context: pipeline.context, session: pipeline.session)
        switch routes.rule(for: request) {
        case .selecting:
            return try await pipeline.result(of: .proxySelection, for: request) {
                try await routes.decision(for: request, url, access)
            }
        // A script has limits of its own.
        case .automatic:
            return try await call.waiting(for: .script) { try await routes.decision(for: request, url, access) }
        case .direct, .always, .environment: return try await routes.decision(for: request, url, access)
        }
    }

    /// Returns a request that is sent through a proxy, with the addresses that the session's resolver has for it.
    private func routed(_ request: Request, through proxy: Proxy, _ decision: ProxyDecision) async throws -> Request {
        let clock = call.clock
        let known = try routes.knownAddresses(for: request, to: url, through: proxy, now: clock.now())
        if let known { return request.through(proxy, decision: decision, addresses: known) }
        let found = try await pipeline.result(of: .resolver(host: url.host), for: request) {
            try await routes.findAddresses(for: request, to: url, through: proxy, clock: clock) { kind in
                pipeline.tell { kind }
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
        _ routed: Request, through proxy: Proxy, _ decision: ProxyDecision
    ) async throws -> StepResponse {
        var rest = try routes.addressesInTurn(of: routed, to: url, through: proxy)[...]
        while let address = rest.popFirst() {
            do {
                let answer = try await pipeline.send(routed.through(proxy, decision, to: address), permit)
                routes.didReach(address, of: routed, to: url, through: proxy)
                return answer
            } catch let error as TrellisError where !rest.isEmpty && error.isOfAddress(address, routed) {
                try call.checkCancellation()
            }
        }
        return try await sendAuthenticated(routed, through: proxy, decision)
    }

    /// Sends a request through a proxy. If the proxy refuses Basic credentials, and may want Digest (``Proxy/Authentication/any``), the
    /// request is sent again with Digest; the server has received nothing until then.
    ///
    /// A challenge to a request without a tunnel may also come from a server or a further proxy, passed on (RFC 9110, section 11.7.1).
    /// It is the response if the proxy makes no tunnel.
    @inline(never)
    private func sendAuthenticated(
        _ routed: Request, through proxy: Proxy, _ decision: ProxyDecision
    ) async throws -> StepResponse {
        guard let digest = proxy.withDigest else { return try await pipeline.send(routed, permit) }
        var refusal: TrellisError?
        var challenge: StepResponse?
        do {
            let answer = try await pipeline.send(routed, permit)
            guard answer.response.asksForProxyDigest, !routes.isTunnelled(routed), routed.mayBeSentThrough(digest)
            else {
                return answer
            }
            challenge = await answer.inMemory(pipeline.context)
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
            let again = routed.through(digest, decision: decision, addresses: addresses)
            let answer = try await pipeline.send(again, permit)
            routes.setWantsDigest(proxy, true)
            return answer
        } catch let error as TrellisError where error.isOfRefusedTunnel {
            if let challenge { return challenge }
            // The proxy wants other credentials, and not another scheme.
            throw error.isOfProxyCredentials ? refusal ?? error : error
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
    /// Returns whether a SOCKS proxy has made no connection to an address of the server (RFC 1928, section 6), or was not asked for it
    /// because of the egress policy, so that it may make one to another address, and the request may be sent there.
    fileprivate func isOfAddress(_ address: IPAddress, _ request: Request) -> Bool {
        guard request.hasReplayableBody else { return false }
        switch reason {
        case .proxyFailed(.socksRefused): break
        case .egressRefused(.network(_, let refused)): return IPAddress(refused) == address
        default: return false
        }
        // A request that was sent on a connection that died must not be sent again, unless it may be repeated.
        return [.composing, .queued, .connecting].contains(phase) || request.mayBeRepeated
    }
}

extension Request {
    /// Returns whether a request that a proxy has refused may be sent through the same proxy with other credentials.
    fileprivate func mayBeSentThrough(_ proxy: Proxy) -> Bool {
        extras?.extras.selected?.proxy != proxy && body?.isReplayable ?? true
    }
}

extension Response {
    /// Whether the response is from a proxy that asks for Digest authentication alone (RFC 9110, section 11.7.1).
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
        return try? await context.result(within: Self.memoryTimeout) { try await readToEnd(token) } ?? nil
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
