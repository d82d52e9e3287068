import CurlEngine

/// The route of a request and the rules of TLS for its server, which must be known before its exchange.
extension RequestPreparation {
    /// Returns whether the way of a request has to be found before its exchange is made.
    func mustSelectRoute(for request: Request) -> Bool { routes.mustSelect(for: request) && makesConnections }

    /// Whether the transport of the current task's requests makes connections.
    var makesConnections: Bool { TransportOverride.current?.transport.makesConnections ?? ownMakesConnections }

    /// Returns whether a request needs a call with a task before it can be sent: to choose its proxy, or to read certificates.
    func mustWait(for request: Request, _ clock: any EngineClock) -> Bool {
        // Code of the user's may be asked about the server, or for the way of the request.
        mayWaitForTrust || mustSelectRoute(for: request) || mustLoadTrust(for: request, clock)
    }

    /// Returns whether files of certificates must be read, or checked for changes, before a request is sent.
    func mustLoadTrust(for request: Request, _ clock: any EngineClock) -> Bool {
        guard !trust.isConstant, makesConnections else { return false }
        return trust.mustLoad(clock) {
            guard let url = try? url(of: request),
                let route = try? routes.route(to: url, of: request, isForQueue: true).route
            else { return nil }
            return (possibleTLSHost(of: url), route.secureProxyHost)
        }
    }

    /// Reads the certificates for a request, if they must be read, and returns the changes of their files that must be told.
    ///
    /// - Parameter limit: Returns the limit on the first read of files; `nil` for none. Called only if it is needed.
    /// - Throws: ``TrellisError`` if files cannot be read and have never been, or not within the limit; `CancellationError` in a cancelled
    ///   task.
    func loadTrust(
        for request: Request, now: EngineInstant, limit: @Sendable () -> TrustFileLimit?
    ) async throws -> [TrustEntry.Change] {
        let url = try url(of: request)
        let proxyHost = try routes.route(to: url, of: request, isForQueue: true).route.secureProxyHost
        do {
            return try await trust.load(host: tlsHost(of: url), proxyHost: proxyHost, now: now, limit: limit)
        } catch let error as TrellisError {
            throw error.naming(request)
        }
    }

    /// Returns the host whose certificates a request may need; `nil` if the server has no TLS. A host may ask for https (RFC 6797) before
    /// the request is sent.
    func possibleTLSHost(of url: WireURL) -> String? { configuration.secureHosts == nil ? tlsHost(of: url) : url.name }

    /// Returns the host whose certificates a request needs, which is about to be sent to its URL; `nil` if the server has no TLS.
    func tlsHost(of url: WireURL) -> String? { url.isSecure ? url.name : nil }

    // MARK: Proxy scripts

    /// The largest size of a script, in bytes.
    static let scriptSizeLimit = 1 << 20
    /// The time for fetching a script.
    static let scriptLimit = Duration.seconds(30)

    /// The preparation of the requests for scripts, which are sent without the steps, the default fields and the proxies of the session. It
    /// stays the same, so that files are not read and evaluators and passphrases not asked
    /// for each script again.
    var forScripts: RequestPreparation {
        scripts.withLock { scripts in
            if let scripts { return scripts }
            var own = SessionConfiguration()
            own.tls = configuration.tls
            // The client certificate is for the servers, unless the rules of the host have one.
            own.tls.clientIdentity = nil
            own.tlsForHosts = configuration.tlsForHosts
            own.serverTrustManager = configuration.serverTrustManager
            own.timeouts.connect = configuration.timeouts.connect
            own.timeouts.total = Self.scriptLimit
            own.maximumBodySize = .bytes(Self.scriptSizeLimit)
            let preparation = RequestPreparation(own)
            scripts = preparation
            return preparation
        }
    }
}
