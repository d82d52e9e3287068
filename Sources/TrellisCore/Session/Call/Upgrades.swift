import CurlEngine

/// The changes of a session's requests because of earlier responses of their hosts: https instead of http, an alternative service instead
/// of the origin.
struct Upgrades: Sendable {
    let secureHosts: (any SecureHosts)?
    let alternatives: (any AlternativeServices)?
    /// Whether requests may be changed because of earlier responses.
    let exist: Bool
    private let preparation: RequestPreparation

    init(_ configuration: SessionConfiguration, _ preparation: RequestPreparation) {
        (secureHosts, alternatives) = (configuration.secureHosts, configuration.alternatives)
        exist = secureHosts != nil || alternatives != nil
        self.preparation = preparation
    }

    /// Whether a file must be read before the first request.
    @inline(__always)
    var mustPrepare: Bool { exist && !(secureHosts?.isLoaded ?? true && alternatives?.isLoaded ?? true) }

    /// Reads the files that must be read before the first request.
    func prepare() async {
        await secureHosts?.load()
        await alternatives?.load()
    }

    /// Writes the files of the stores. Failures are properties of the stores.
    func save() async {
        try? await secureHosts?.flush()
        try? await alternatives?.flush()
    }

    /// Returns the alternative service to which a request is sent; `nil` if that is its origin.
    func alternative(for request: Request) -> AlternativeService? {
        // Trailers are sent over HTTP/1.1 only. The certificate is the proof that the service is one of the origin.
        guard let store = alternatives,
            (request.httpVersion ?? preparation.configuration.httpVersion) == .automatic,
            request.body == nil || request.trailers == nil,
            let url = try? preparation.url(of: request), url.isSecure, verifies(url),
            let service = store.service(for: url),
            preparation.routes.allowsAlternatives(to: url, of: request)
        else { return nil }
        return service
    }

    /// Returns a request as it is sent to an alternative service: with the field that names the service (RFC 7838, section 5), and with
    /// a part of the time for connecting.
    func sending(_ request: Request, to service: AlternativeService, _ delivery: Delivery) -> Request {
        var sent = request.sent(to: service)
        let connect = preparation.limits(of: request, delivery: delivery).connect.map { $0 / 4 } ?? .max
        var timeouts = request.timeouts ?? Timeouts()
        timeouts.connect = .nanoseconds(Int64(min(connect, 2_000_000_000)))
        sent.timeouts = timeouts
        if sent.headers["Alt-Used"] == nil {
            sent.headers["Alt-Used"] = service.port == 443 ? service.host : service.authority
        }
        return sent
    }

    /// Returns a request over https if its host asks for that, and otherwise the same request.
    ///
    /// - Parameter call: The call whose observers are told of the change, if any.
    @inline(__always)
    func upgraded(_ request: Request, by call: Call?) -> Request {
        secureHosts == nil ? request : upgraded(request, call)
    }

    @inline(never)
    private func upgraded(_ request: Request, _ call: Call?) -> Request {
        // A URL that cannot be requested fails when it is requested.
        guard let hsts = secureHosts, let url = try? preparation.url(of: request),
            let text = hsts.upgraded(request.url, url)
        else { return request }
        var request = request
        request.url = text
        call?.observer?.tell(.upgraded(request))
        return request
    }

    /// Keeps the wishes of a host that a response contains. Nothing is learned without the verification of the host.
    @inline(__always)
    func learn(from head: ResponseHead, of prepared: PreparedRequest) {
        if exist { learn(from: head, prepared.wire.url) }
    }

    @inline(never)
    private func learn(from head: ResponseHead, _ url: WireURL) {
        guard url.isSecure, verifies(url) else { return }
        secureHosts?.receive(head, from: url)
        // A server that does not serve the origin knows nothing about its services (RFC 7838, section 6).
        if head.status != .misdirectedRequest { alternatives?.receive(head, from: url) }
    }

    /// Returns whether the certificate of a host is verified.
    private func verifies(_ url: WireURL) -> Bool { !preparation.trust.configuration(for: url.name).isInsecure }
}

extension SessionConfiguration {
    /// Begins to forget what was learned in a network that the machine leaves: alternative services, addresses of a resolver, results of a
    /// script that chooses proxies, and failures of proxies. Returns `nil` if the session has nothing of the kind, because an observation
    /// costs a thread and a socket of the process.
    func observeNetwork(_ routes: RouteTable) -> NetworkObservation? {
        let store = alternatives
        guard followsNetworkChanges, store != nil || routes.dependsOnNetwork else { return nil }
        return reachability.source.observeUplinks { [weak routes] in
            routes?.networkDidChange()
            if let store { Task { await store.networkDidChange() } }
        }
    }
}
