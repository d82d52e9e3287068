package import CurlEngine

/// The routes of a session: the proxies and sockets of its requests, and the state of proxies that have failed.
package final class RouteTable: Sendable {
    /// The route of an exchange.
    struct Chosen: Sendable {
        static let direct = Chosen(route: .direct, decision: nil)

        let route: TransferRoute
        /// The decision about the proxies; `nil` if there is none to make.
        let decision: ProxyDecision?
    }

    /// A script that has been asked for proxies.
    private struct ScriptKey: Hashable {
        let script: any ProxyScript

        static func == (one: ScriptKey, other: ScriptKey) -> Bool {
            AnyHashable(one.script) == AnyHashable(other.script)
        }

        func hash(into hasher: inout Hasher) { script.hash(into: &hasher) }
    }

    /// A proxy that has failed.
    private struct FailedProxy: Hashable {
        let proxy: Proxy
        /// The origin of the requests for which the proxy has failed; `nil` if it has failed for all.
        let origin: URLOrigin?
    }

    /// The time for which a proxy that has failed is tried last.
    private struct CoolDown {
        /// The instant of the first of the failures that have followed each other within the time.
        let start: EngineInstant
        let end: EngineInstant
    }

    /// A server whose addresses a SOCKS proxy is asked for.
    private struct ServerBehindProxy: Hashable {
        let proxy: Proxy
        let target: RouteTarget
    }

    /// The parts of a route that is kept.
    private struct RouteKey: Hashable {
        let parts: TransferRoute.Parts
        /// The number of the route with all addresses, if this one has only one of them; otherwise 0.
        let whole: Int
    }

    private struct State {
        /// The routes by their parts, so that equal parts share connections.
        var routes: [RouteKey: TransferRoute] = [:]
        /// The choices of the session's own rule, by origin.
        var chosen: [String: Chosen] = [:]
        /// The times for which proxies that have failed are tried last.
        var failed: [FailedProxy: CoolDown] = [:]
        /// The number of changes of the network.
        var changes = 0
        /// The proxies that have accepted only Digest authentication.
        var digestProxies: Set<Proxy> = []
        /// The addresses at which SOCKS proxies have reached servers with several ones.
        var reached: [ServerBehindProxy: IPAddress] = [:]
        /// The scripts that have been asked for proxies.
        var scripts: [ScriptKey: any ProxyScriptState] = [:]
    }

    /// The number of routes and of choices that are kept. Programs with more have new connections for a route that they use again.
    private static let limit = 1024
    /// The number of scripts that are kept.
    private static let scriptLimit = 16
    /// The number of addresses of a server that a SOCKS proxy is asked for.
    private static let addressLimit = 8

    private let proxies: ProxyConfiguration
    /// The way of requests without one of their own.
    let route: Route
    /// Whether every request of the session without rules of its own has a direct connection.
    private let isDirect: Bool
    private let mustSelectByDefault: Bool
    /// Whether every request without a route goes to the host of its URL.
    private let isPlain: Bool
    /// Whether the session has a resolver, so that no engine looks up a name that the resolver can know.
    let hasResolver: Bool
    /// The addresses that the session keeps.
    let ownNames: ResolverCache
    /// Returns the proofs for a proxy, if libcurl does not make them.
    private let makeProofs: @Sendable (EngineConfiguration.ProxyServer) -> (any TunnelProofs)?
    private let state = Locked(State())

    init(
        proxies: ProxyConfiguration, route: Route, resolver: (any NameResolver)? = nil,
        makeProofs: @escaping @Sendable (EngineConfiguration.ProxyServer) -> (any TunnelProofs)? = { _ in nil }
    ) {
        self.proxies = proxies
        self.makeProofs = makeProofs
        self.route = route
        hasResolver = resolver != nil
        ownNames = ResolverCache(resolver ?? SystemNameResolver())
        isPlain = route == Route()
        isDirect = isPlain && proxies.isDirect && !hasResolver
        mustSelectByDefault = route.unixSocket == nil && (proxies.mustSelect || hasResolver)
    }

    /// The addresses from the session's resolver, or from the system's for requests with a source of their own. The requests of a
    /// ``NameScope`` have addresses of their own.
    var names: ResolverCache { NameScope.names(inPlaceOf: ownNames) }

    /// Returns whether the way of a request has to be found before its exchange is made, which needs a call with a task: its proxies are
    /// chosen by a function, or tried one after the other, or a resolver is asked.
    func mustSelect(for request: Request) -> Bool {
        guard let extras = request.extras?.extras else { return mustSelectByDefault }
        let way = extras.route ?? route
        guard way.unixSocket == nil else { return false }
        return hasResolver || way.source != route.source || (extras.proxy ?? proxies).mustSelect
    }

    /// Returns the route of an exchange.
    ///
    /// - Parameter isForQueue: Whether only the name of the route's connections is needed, and no addresses.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` if a variable of the environment does not name a proxy, or
    ///   the request's ``Route`` cannot be used for the URL; of kind ``TrellisError/Kind/dns`` if a name has no address that can be used.
    func route(to url: WireURL, of request: Request, isForQueue: Bool = false) throws(TrellisError) -> Chosen {
        // Most requests have no extras, which are large to copy even if there are none.
        if isDirect, request.extras == nil { return .direct }
        let extras = request.extras?.extras
        if isDirect, extras?.proxy == nil, extras?.route == nil { return .direct }
        let hasOwnRule = extras?.proxy != nil || extras?.route != nil
        // A request that a session has sent may be sent again by another one, whose own rule applies.
        if let selected = extras?.selected, mustSelect(for: request) {
            return Chosen(
                route: try route(to: url, extras, through: selected.proxy),
                decision: (extras?.proxy ?? proxies).isDirect ? nil : selected.decision)
        }
        if !hasOwnRule, let known = state.withLock({ $0.chosen[url.origin] }) { return known }
        let chosen = try choose(url, extras, isForQueue: isForQueue)
        // The addresses of a resolver are found for each exchange.
        if !hasOwnRule, !hasResolver {
            state.withLock { state in
                if state.chosen.count >= Self.limit { state.chosen = [:] }
                state.chosen[url.origin] = chosen
            }
        }
        return chosen
    }

    private func choose(_ url: WireURL, _ extras: RequestExtras?, isForQueue: Bool) throws(TrellisError) -> Chosen {
        let rule = extras?.proxy ?? proxies
        guard (extras?.route ?? route).unixSocket == nil else {
            return Chosen(route: try route(to: url, extras, through: .direct), decision: nil)
        }
        guard let decision = try rule.decision(for: URLOrigin(url)) else {
            // A request whose function was not asked must not go past its proxies.
            throw TrellisError(.invalidRequest(.proxy("the function that selects the proxies was not called")))
        }
        return Chosen(
            route: try route(to: url, extras, through: decision.proxies.first ?? .direct, isForQueue),
            decision: rule.isDirect ? nil : decision)
    }

    private func route(
        to url: WireURL, _ extras: RequestExtras?, through proxy: Proxy, _ isForQueue: Bool = false
    ) throws(TrellisError) -> TransferRoute {
        let way = extras?.route ?? route
        var parts = try way.parts(to: url, through: proxy, isSeparate: way.source != route.source)
        let wanted = try lookups(to: url, by: way, parts, through: proxy)
        if let name = wanted?.server { parts.addresses = .found(name: name) }
        if let name = wanted?.proxy { parts.proxyAddresses = .found(name: name) }
        if let name = wanted?.secondProxy { parts.secondProxyAddresses = .found(name: name) }
        let found = extras?.selected?.addresses
        var route = pooled(parts)
        if let choice = found?.choice, proxy.looksUpServers {
            parts.addresses = .fixed([choice.description])
            route = pooled(parts, of: route)
        }
        guard let wanted, !isForQueue else { return route }
        if let name = wanted.server, case .found = parts.addresses {
            route.setAddresses(try Self.usable(found?.server, of: name, wanted.family))
        }
        if let name = wanted.proxy {
            route.setAddresses(try Self.usable(found?.proxy, of: name, wanted.family), of: .proxy)
        }
        if let name = wanted.secondProxy {
            route.setAddresses(try Self.usable(found?.secondProxy, of: name, wanted.family), of: .secondProxy)
        }
        return route
    }

    /// Returns the route with these parts.
    ///
    /// - Parameter whole: The route with all addresses, if this one has only one of them.
    func pooled(_ parts: TransferRoute.Parts, of whole: TransferRoute? = nil) -> TransferRoute {
        if parts.isDirect { return .direct }
        let key = RouteKey(parts: parts, whole: whole?.number ?? 0)
        return state.withLock { state in
            if let known = state.routes[key] { return known }
            if state.routes.count >= Self.limit { state.routes = [:] }
            let route = TransferRoute(parts, of: whole, proofs: parts.proxy.flatMap(makeProofs))
            state.routes[key] = route
            return route
        }
    }

    /// Returns the numbers of the routes that lead to some hosts and ports (`host:port`) instead of the URL's.
    func numbers(connectingTo targets: Set<String>) -> Set<Int> {
        let routes = state.withLock { $0.routes.values.filter { targets.contains($0.parts.connectTo ?? "") } }
        return Set(routes.map(\.number))
    }

    /// Returns the place to which a request goes instead of the host of its URL; `nil` if it goes there.
    package func destination(of request: Request, _ url: WireURL) -> String? {
        if request.extras == nil, isPlain { return nil }
        let way = request.extras?.extras.route ?? route
        if let socket = way.unixSocket { return "socket \(socket)" }
        let target = way.target(of: url)
        let addresses = way.addresses.find(target.host, Int(target.port))
        guard target != RouteTarget(url) || addresses != nil else { return nil }
        return "\(target) \(addresses ?? [])"
    }

    // MARK: Changes of the network

    /// Whether the requests of the session have something that may be true in one network only: the addresses of a resolver or
    /// for a SOCKS proxy, the results of a script, or the failures of some of several proxies.
    var dependsOnNetwork: Bool {
        switch proxies.rule {
        // A function may name several proxies.
        case .automatic, .selecting: true
        case .environment(let environment): hasResolver || environment.looksUpServers
        case .always(let proxies, _): hasResolver || proxies.count > 1 || proxies.contains { $0.looksUpServers }
        case .direct: hasResolver
        }
    }

    /// The number of changes of the network.
    var networkChanges: Int { state.withLock { $0.changes } }

    /// Forgets the addresses, the results of scripts and the failures of proxies that were found in a network that the machine has left.
    func networkDidChange() {
        ownNames.networkDidChange()
        let scripts = state.withLock { state in
            state.failed = [:]
            state.changes += 1
            return Array(state.scripts.values)
        }
        for script in scripts { script.networkDidChange() }
    }

    // MARK: Several addresses

    /// Returns the addresses of a server that a SOCKS proxy is asked for, one after the other, because it looks up no names: the one that
    /// it has reached last, and then the others in their order. Empty if there is no choice.
    ///
    /// - Parameter request: The request with the addresses that were looked up.
    func addressesInTurn(
        of request: Request, to url: WireURL, through proxy: Proxy
    ) throws(TrellisError) -> [IPAddress] {
        guard proxy.looksUpServers else { return [] }
        let way = request.route ?? route
        let parts = try way.parts(to: url, through: proxy, isSeparate: way.source != route.source)
        let family = try way.connectionFamily()
        let all: [IPAddress] =
            if case .fixed(let literals) = parts.addresses {
                literals.compactMap { IPAddress($0) }
            } else {
                request.extras?.extras.selected?.addresses.server ?? []
            }
        // SOCKS 4 has no addresses of IPv6.
        var usable = all.filter { $0.isOf(family) && (proxy.kind != .socks4 || $0.isOf(.ipv4)) }
        guard all.count > 1, !usable.isEmpty else { return [] }
        let server = ServerBehindProxy(proxy: proxy, target: way.target(of: url))
        if let last = state.withLock({ $0.reached[server] }), let index = usable.firstIndex(of: last) {
            usable.remove(at: index)
            usable.insert(last, at: 0)
        }
        return Array(usable.prefix(Self.addressLimit))
    }

    /// Records the address at which a SOCKS proxy has reached a server, so that later requests begin with it.
    func didReach(_ address: IPAddress, of request: Request, to url: WireURL, through proxy: Proxy) {
        let server = ServerBehindProxy(proxy: proxy, target: (request.route ?? route).target(of: url))
        state.withLock { state in
            if state.reached.count >= Self.limit { state.reached = [:] }
            state.reached[server] = address
        }
    }

    // MARK: Several proxies

    /// Returns the rule for the proxies of a request.
    func rule(for request: Request) -> ProxyConfiguration.Rule { (request.proxy ?? proxies).rule }

    /// Returns the decision about the proxies of a request, with proxies that have failed lately at its end.
    ///
    /// - Parameter access: The access to scripts.
    /// - Throws: The error of the function or the script that chooses the proxies.
    func decision(
        for request: Request, _ url: WireURL, _ access: any ProxyScriptAccess
    ) async throws -> ProxyDecision {
        let rule = request.proxy ?? proxies
        let origin = URLOrigin(url)
        let decision: ProxyDecision
        if let known = try rule.decision(for: origin) {
            decision = known
        } else if case .selecting(let selection) = rule.rule {
            decision = ProxyDecision(proxies: try await selection(origin), reason: "selected for \(origin)")
        } else if case .automatic(let script, let credentials) = rule.rule {
            decision = try await self.state(of: script).decision(for: url, credentials: credentials, access: access)
        } else {
            decision = ProxyDecision(proxies: [], reason: "")
        }
        guard decision.proxies.count > 1 else { return decision }
        let failed = state.withLock { $0.failed }
        guard !failed.isEmpty else { return decision }
        let now = access.now
        let isFailed = decision.proxies.map { proxy in
            [nil, origin].contains { failed[FailedProxy(proxy: proxy, origin: $0)].map { now < $0.end } ?? false }
        }
        guard isFailed.contains(true), isFailed.contains(false) else { return decision }
        let pairs = zip(decision.proxies, isFailed)
        let ordered = pairs.filter { !$0.1 }.map(\.0) + pairs.filter(\.1).map(\.0)
        return ProxyDecision(proxies: ordered, reason: decision.reason + "; others have failed lately")
    }

    /// Returns the state of a script in this session.
    private func state(of script: some ProxyScript) -> any ProxyScriptState {
        let key = ScriptKey(script: script)
        return state.withLock { state in
            if let known = state.scripts[key] { return known }
            if state.scripts.count >= Self.scriptLimit { state.scripts = [:] }
            let new = script.makeState()
            state.scripts[key] = new
            return new
        }
    }

    /// Records that a proxy has failed, unless the network has changed since the attempt began.
    ///
    /// - Parameters:
    ///   - origin: The origin of the requests for which it has failed; `nil` if it has failed for all.
    ///   - changes: The number of changes of the network before the attempt.
    func didFail(
        _ proxy: Proxy, origin: URLOrigin?, for request: Request, after changes: Int, now: EngineInstant
    ) {
        guard proxy != .direct else { return }
        let coolDown = (request.proxy ?? proxies).coolDown.clampedNanoseconds
        state.withLock { state in
            guard state.changes == changes else { return }
            if state.failed.count >= Self.limit { state.failed = state.failed.filter { now < $0.value.end } }
            if state.failed.count >= Self.limit { state.failed = [:] }
            let key = FailedProxy(proxy: proxy, origin: origin)
            let earlier = state.failed[key].flatMap { now < $0.end ? $0.start : nil }
            state.failed[key] = CoolDown(start: earlier ?? now, end: now.advanced(byNanoseconds: coolDown))
        }
    }

    /// Forgets that proxies have failed, unless they had failed before an instant: no connection could be made at all, so that the proxies
    /// need not be the cause. A direct connection that is the last of a list would otherwise be the first, also when the proxies work.
    func forgetFailures(of proxies: [Proxy], origin: URLOrigin, since start: EngineInstant) {
        state.withLock { state in
            for proxy in proxies {
                for origin in [nil, origin] {
                    let key = FailedProxy(proxy: proxy, origin: origin)
                    if let coolDown = state.failed[key], coolDown.start >= start { state.failed[key] = nil }
                }
            }
        }
    }

    /// Returns a proxy with the authentication scheme that it is known to want.
    func authenticating(_ proxy: Proxy) -> Proxy {
        guard let digest = proxy.withDigest, state.withLock({ $0.digestProxies.contains(proxy) }) else { return proxy }
        return digest
    }

    /// Records whether a proxy accepts only Digest authentication.
    func setWantsDigest(_ proxy: Proxy, _ wantsDigest: Bool) {
        state.withLock { state in
            if state.digestProxies.count >= Self.limit { state.digestProxies = [] }
            if wantsDigest { state.digestProxies.insert(proxy) } else { state.digestProxies.remove(proxy) }
        }
    }

    /// Records that a proxy works for an origin.
    func didWork(_ proxy: Proxy, origin: URLOrigin) {
        state.withLock { state in
            guard !state.failed.isEmpty else { return }
            for origin in [nil, origin] { state.failed[FailedProxy(proxy: proxy, origin: origin)] = nil }
        }
    }
}
