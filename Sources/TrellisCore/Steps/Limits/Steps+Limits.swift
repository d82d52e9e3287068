import CurlEngine

/// The limits per host for requests on the wire.
extension Steps {
    var hasLimits: Bool { circuitBreaker != nil || !rateLimiters.isEmpty || adaptiveConcurrency != nil }
}

extension AttachedSteps {
    /// Returns the permit of a request when its host has a closed circuit, all limiters have admitted the request, and the concurrency
    /// limit has room for it.
    ///
    /// - Throws: ``TrellisError`` of a kind ``TrellisError/Kind/circuitOpen`` or ``TrellisError/Kind/rateLimited``;
    ///   `CancellationError` in a cancelled task.
    @inline(never)
    func permit(for request: Request, _ context: CallContext) async throws -> LimitPermit {
        let permit = LimitPermit(of: request, breaker: steps.circuitBreaker, context)
        var passes = LimitPermit.Passes()
        do {
            // The circuit is checked before the wait, to save the wait, and again after it, because the wait may be long.
            try permit.checkCircuit(context)
            for index in steps.rateLimiters.indices {
                passes.tokens.append(try await permit.token(of: steps.rateLimiters[index], context))
            }
            // A slot is not held while the request waits for something else than the host.
            if let limit = steps.adaptiveConcurrency { passes.slot = try await permit.slot(of: limit, context) }
            try permit.begin(with: passes, context)
            return permit
        } catch {
            throw permit.abandon(error, with: passes, for: request, context)
        }
    }
}

extension Request {
    /// The host that limits per host count by: the host in lower case, and the port unless it is the scheme's default. Empty for
    /// a relative URL.
    var limitedHost: String { Self.limitedHost(of: url) }

    /// Returns the host that the circuit and the concurrency of an endpoint count by.
    func limitedHost(at endpoint: Endpoint) -> String { "\(limitedHost) at \(endpoint)" }

    /// The host that circuits and concurrency limits count by: the ``limitedHost``, or one of its endpoints.
    var limitedPeer: String {
        guard let selected = extras?.extras.endpoint else { return limitedHost }
        return limitedHost(at: selected.endpoint)
    }

    /// Returns the ``limitedHost`` of a URL. The hosts of the URLs that were asked for last are cached.
    static func limitedHost(of url: String) -> String {
        let slot = Int(url.slotNumber % UInt(HostCache.slotCount))
        let known = HostCache.slots.withLock { slots -> String? in
            guard let known = slots[slot], known.url.hasSameBytes(as: url) else { return nil }
            return known.host
        }
        if let known { return known }
        let host = parsedHost(of: url)
        // The text before an `@` may be a password.
        if !url.utf8.contains(UInt8(ascii: "@")) { HostCache.slots.withLock { $0[slot] = (url, host) } }
        return host
    }

    @inline(never)
    private static func parsedHost(of url: String) -> String {
        let reference = URLReference(url)
        guard let authority = reference.authority?.lowercasedASCII() else { return "" }
        let host =
            authority.lastIndex(ofByte: "@").map { String(authority[authority.utf8.index(after: $0)...]) } ?? authority
        let port = reference.scheme?.lowercasedASCII() == "https" ? ":443" : ":80"
        if host.hasSuffix(port) { return String(host.dropLast(port.count)) }
        return host.hasSuffix(":") ? String(host.dropLast()) : host
    }
}

/// The hosts of the last URLs.
private enum HostCache {
    static let slotCount = 64
    static let slots = Locked([(url: String, host: String)?](repeating: nil, count: slotCount))
}
