import CurlEngine

/// The rules of TLS of a session, by host.
package final class TrustTable: Sendable {
    private struct Pair: Hashable {
        let server: ObjectIdentifier
        let proxy: ObjectIdentifier
        let needsStaple: Bool
    }

    /// Rules made of a server's rules, with the demand of its evaluator, and a proxy's rules.
    private struct PairRules {
        let server: TransferTrust
        let proxy: TransferTrust
        let both: TransferTrust

        init(server: TransferTrust, proxy: TransferTrust, needsStaple: Bool) {
            self.server = server
            self.proxy = proxy
            var rules = server.server
            rules.requiresStapledResponse = rules.requiresStapledResponse || needsStaple
            both = TransferTrust(server: rules, proxy: proxy.proxy, number: TrustEntry.takeNumber())
        }
    }

    private let standard: TrustEntry
    /// The entries of patterns, the most specific ones first.
    private let hosts: [(pattern: HostPattern, entry: TrustEntry)]
    /// The evaluators of servers; `nil` if none of them needs a stapled response.
    private let evaluators: ServerTrustManager?
    /// The rules for all hosts, if they have no sources and are the same.
    private let constantRules: ConstantTrust?
    /// The rules of servers and proxies with different configurations, and of servers whose evaluator needs a stapled response.
    private let pairs = Locked<[Pair: PairRules]>([:])

    /// - Parameter evaluators: The evaluators of servers. Those that need a stapled OCSP response have it required of their hosts.
    init(
        _ configuration: TLSConfiguration, forHosts hosts: [HostPattern: TLSConfiguration],
        evaluators: ServerTrustManager? = nil, system: SystemAuthorities = .shared
    ) {
        standard = TrustEntry(configuration, isForProxies: false, system)
        self.hosts = hosts.sorted { $0.key.isMoreSpecific(than: $1.key) }.map { pattern, configuration in
            (pattern, TrustEntry(configuration, isForProxies: true, system))
        }
        let demanding = evaluators.flatMap { $0.mayNeedStaple ? $0 : nil }
        self.evaluators = demanding
        constantRules = hosts.isEmpty && demanding == nil ? standard.constantRules : nil
    }

    /// Whether nothing has to be read for any request.
    var isConstant: Bool { constantRules != nil }

    /// The rules for all hosts, if nothing has to be read for a request; `nil` otherwise.
    var constant: TransferTrust? { constantRules?.current }

    /// Returns ``constant`` for a request.
    ///
    /// - Parameter mayUseTLS: Whether the request may need the system's file, which is looked at from time to time.
    func constant(mayUseTLS: Bool) -> TransferTrust? {
        guard let constantRules else { return nil }
        if mayUseTLS { constantRules.lookIfDue() }
        return constantRules.current
    }

    /// Returns whether files must be read, or checked for changes, before a request, which needs a call with a task.
    ///
    /// - Parameter peers: Returns the host of the request if it has TLS, and the host of its HTTPS proxy; `nil` if they are not known yet.
    func mustLoad(_ clock: any EngineClock, _ peers: () -> (host: String?, proxyHost: String?)?) -> Bool {
        guard !isConstant else { return false }
        let now = clock.now()
        guard !hosts.isEmpty || standard.isDue(now: now) else { return false }
        guard let peers = peers() else { return true }
        return [peers.host, peers.proxyHost].contains { $0.map { entry(for: $0).isDue(now: now) } ?? false }
    }

    /// Reads the files for a request, if they must be read, and returns the changes that must be told.
    ///
    /// - Parameters:
    ///   - host: The host of the URL; `nil` if the server has no TLS.
    ///   - proxyHost: The host of the HTTPS proxy, if any.
    ///   - limit: Returns the limit on the first read of each configuration's files; `nil` for none. Called only if it is needed.
    /// - Throws: ``TrellisError`` if files cannot be read and have never been, or not within the limit; `CancellationError` in a cancelled
    ///   task.
    func load(
        host: String?, proxyHost: String?, now: EngineInstant, limit: @Sendable () -> TrustFileLimit? = { nil }
    ) async throws -> [TrustEntry.Change] {
        guard !isConstant else { return [] }
        let server = host.map(entry(for:)), proxy = proxyHost.map(entry(for:))
        let first = try await server?.refresh(now: now, limit: limit)
        let second = proxy === server ? nil : try await proxy?.refresh(now: now, limit: limit)
        return [first, second].compactMap { $0 }
    }

    /// Returns the rules for a request.
    ///
    /// - Parameters:
    ///   - host: The host of the URL; `nil` if the server has no TLS.
    ///   - proxyHost: The host of the HTTPS proxy, if any.
    func trust(for host: String?, proxyHost: String?) -> TransferTrust {
        if let constant { return constant }
        guard let first = host ?? proxyHost else { return .system }
        let server = entry(for: first)
        let proxy = proxyHost.map(entry(for:)) ?? server
        let needsStaple = host.map { self.needsStaple(from: $0, server.configuration) } ?? false
        guard needsStaple || proxy !== server else { return server.trust }
        let (ofServer, ofProxy) = (server.trust, proxy.trust)
        let pair = Pair(server: ObjectIdentifier(server), proxy: ObjectIdentifier(proxy), needsStaple: needsStaple)
        return pairs.withLock { pairs in
            if let known = pairs[pair], known.server === ofServer, known.proxy === ofProxy { return known.both }
            let rules = PairRules(server: ofServer, proxy: ofProxy, needsStaple: needsStaple)
            pairs[pair] = rules
            return rules.both
        }
    }

    /// Returns the configuration for a host, with the demand of its evaluator.
    package func configuration(for host: String) -> TLSConfiguration {
        var configuration = entry(for: host).configuration
        if needsStaple(from: host, configuration) { configuration.requiresStapledResponse = true }
        return configuration
    }

    /// Returns whether the evaluator of a host needs a stapled response that the configuration does not require.
    private func needsStaple(from host: String, _ configuration: TLSConfiguration) -> Bool {
        // Without verification, a response proves nothing, and the evaluator refuses the server.
        guard let evaluators, !configuration.isInsecure, !configuration.requiresStapledResponse else { return false }
        return evaluators.needsStaple(from: host, hasRevocationLists: !configuration.revocationLists.isEmpty)
    }

    private func entry(for host: String) -> TrustEntry {
        for (pattern, entry) in hosts where pattern.matches(host) { return entry }
        return standard
    }
}
