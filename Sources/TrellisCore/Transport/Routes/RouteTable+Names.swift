import CurlEngine

/// The names of a route that a resolver is asked for, so that the engine does not look them up.
struct NameLookups {
    /// The name of the host to which connections are made.
    var server: String?
    /// The name of the proxy that is connected first.
    var proxy: String?
    /// The name of the HTTP proxy after a SOCKS proxy that wants its address.
    var secondProxy: String?
    /// The versions of IP that can be used.
    let family: AddressFamily
}

extension RouteTable {
    /// Returns the names that the resolver is asked for, if any. Without a resolver of the session's, and for a local name, the system is
    /// asked for the server's name if a SOCKS proxy wants its addresses, because the engine would try one of them alone.
    func lookups(
        to url: WireURL, by way: Route, _ parts: TransferRoute.Parts, through proxy: Proxy
    ) throws(TrellisError) -> NameLookups? {
        let isSeparate = way.source != route.source
        guard parts.socket == nil, hasResolver || isSeparate || proxy.looksUpServers else { return nil }
        func name(_ host: String, isWanted: Bool = false) -> String? {
            guard let name = Self.name(host) else { return nil }
            // The engine looks up a local name, as it does without a resolver.
            return isWanted || isSeparate || hasResolver && !ownNames.localNames.contains(name) ? name : nil
        }
        var lookups = NameLookups(family: try way.connectionFamily())
        if parts.addresses == .lookedUp, proxy.engine?.looksUpServers ?? true {
            lookups.server = name(way.target(of: url).host, isWanted: proxy.looksUpServers)
        }
        if parts.proxyAddresses == .lookedUp, let next = proxy.nextHop { lookups.proxy = name(next.host) }
        if parts.secondProxyAddresses == .lookedUp, let second = proxy.secondHop {
            lookups.secondProxy = name(second.host)
        }
        return lookups.server == nil && lookups.proxy == nil && lookups.secondProxy == nil ? nil : lookups
    }

    /// Returns whether an HTTP proxy makes a tunnel for a request, so that each response is the server's.
    func isTunnelled(_ request: Request) -> Bool {
        guard let url = try? WireURL(parsing: request.url) else { return false }
        return url.isSecure || (request.route ?? route).target(of: url) != RouteTarget(url)
    }

    /// Returns a host if it is a name that a resolver can know.
    private static func name(_ host: String) -> String? {
        let name = host.lowercasedASCII()
        return name.isLocalName || IPAddress(name) != nil ? nil : name
    }

    /// Returns the addresses of a lookup that can be used.
    static func usable(
        _ found: [IPAddress]?, of name: String, _ family: AddressFamily
    ) throws(TrellisError) -> [String] {
        // A request whose resolver was not asked must not be left to the system's.
        guard let found else { throw .invalidRoute("the resolver was not asked for \(name)") }
        return try Route.usable(found, of: name, family)
    }

    /// Returns the addresses that the resolver knows already for a request through a proxy; `nil` if it has to be asked.
    func knownAddresses(
        for request: Request, to url: WireURL, through proxy: Proxy, now: EngineInstant
    ) throws(TrellisError) -> FoundAddresses? {
        guard let lookups = try lookups(for: request, to: url, through: proxy) else { return FoundAddresses() }
        var found = FoundAddresses()
        if let name = lookups.server {
            found.server = names.knownAddresses(of: name, lookups.family, now: now)
            if found.server == nil { return nil }
        }
        if let name = lookups.proxy {
            found.proxy = names.knownAddresses(of: name, lookups.family, now: now)
            if found.proxy == nil { return nil }
        }
        if let name = lookups.secondProxy {
            found.secondProxy = names.knownAddresses(of: name, lookups.family, now: now)
            if found.secondProxy == nil { return nil }
        }
        return found
    }

    /// Returns the addresses for a request through a proxy, after the resolver was asked.
    ///
    /// - Parameter tell: Receives the events of each lookup.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/dns``, or of kind ``TrellisError/Kind/proxy`` for the name of a proxy, with
    ///   the resolver's error; `CancellationError` in a cancelled task.
    func findAddresses(
        for request: Request, to url: WireURL, through proxy: Proxy, clock: any EngineClock,
        tell: @Sendable (RequestEvent.Kind) -> Void
    ) async throws -> FoundAddresses {
        var found = FoundAddresses()
        guard let lookups = try lookups(for: request, to: url, through: proxy) else { return found }
        if let name = lookups.proxy {
            found.proxy = try await find(name, lookups.family, clock: clock, tell: tell) {
                .proxyFailed(.nameResolution(proxy: proxy.nextHop?.name ?? name, reason: $0))
            }
        }
        if let name = lookups.secondProxy {
            found.secondProxy = try await find(name, lookups.family, clock: clock, tell: tell) {
                .proxyFailed(.nameResolution(proxy: proxy.secondHop?.name ?? name, reason: $0))
            }
        }
        if let name = lookups.server {
            found.server = try await find(name, lookups.family, clock: clock, tell: tell) {
                .connectionFailed(.nameResolution("\(name): \($0)"))
            }
        }
        return found
    }

    private func lookups(
        for request: Request, to url: WireURL, through proxy: Proxy
    ) throws(TrellisError) -> NameLookups? {
        let way = request.route ?? route
        let parts = try way.parts(to: url, through: proxy, isSeparate: way.source != route.source)
        return try lookups(to: url, by: way, parts, through: proxy)
    }

    private func find(
        _ name: String, _ family: AddressFamily, clock: any EngineClock,
        tell: @Sendable (RequestEvent.Kind) -> Void, reason: (String) -> TrellisError.Reason
    ) async throws -> [IPAddress] {
        if let known = names.knownAddresses(of: name, family, now: clock.now()) { return known }
        tell(.lookingUp(host: name))
        do {
            let addresses = try await names.addresses(of: name, family, clock: clock)
            tell(.lookedUp(host: name))
            return addresses
        } catch {
            if Task.isCancelled { throw CancellationError() }
            throw TrellisError(reason("\(error)"), phase: .connecting, underlying: error)
        }
    }
}
