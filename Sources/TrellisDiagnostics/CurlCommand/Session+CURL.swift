import CurlEngine
import HTTPTypes
public import TrellisCore

extension Session {
    /// Returns a command line with which curl sends the same request as this session: ``Request/cURLDescription(_:)`` with the
    /// session's base URL, default query items and fields, limits, versions and trust.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - options: The parts of the request that are shown, and their form; the session supplies settings that the options leave
    ///     open.
    /// - Throws: The errors of the request's own conversion; ``TrellisError`` of kind ``TrellisError/Kind/invalidURL`` for a
    ///   relative URL without a valid base URL.
    public func cURLDescription(
        of request: some RequestConvertible, _ options: CURLDescriptionOptions = CURLDescriptionOptions()
    ) throws -> String {
        var options = options
        var request = try request.asRequest()
        if let defaults = preparation.urlDefaults { request = try defaults.completing(request) }
        let own = options.defaultHeaders
        for field in preparation.defaultFields where !own.contains(field.name) {
            options.defaultHeaders.append(field)
        }
        options.timeouts = options.timeouts?.completed(by: configuration.timeouts) ?? configuration.timeouts
        if options.httpVersion == .automatic { options.httpVersion = configuration.httpVersion }
        options.bandwidth.upload = options.bandwidth.upload ?? configuration.bandwidth.upload
        options.bandwidth.download = options.bandwidth.download ?? configuration.bandwidth.download
        options.decodesContent = options.decodesContent || configuration.decodesContent
        // A relative URL without a base is an error here, as when the request is sent.
        let host = try preparation.url(of: request).host
        options.route = configuration.route
        options.resolver = resolverSettings(for: host, revealsSecrets: options.revealsSecrets)
        options.proxy = configuration.proxy
        let (trust, patterns) = (preparation.trust, Array(configuration.tlsForHosts.keys))
        options.tls = { trust.configuration(for: $0) }
        options.hasOwnTLS = { host in patterns.contains { $0.matches(host) } }
        options.furtherRemarks += remarks(on: request, host)
        if let path = configuration.secureHosts?.path { options.furtherArguments += ["--hsts", path] }
        if let path = configuration.alternatives?.path { options.furtherArguments += ["--alt-svc", path] }
        return request.cURLDescription(options)
    }

    /// Returns the options of curl for the resolver; none for a name that the system looks up.
    private func resolverSettings(for host: String, revealsSecrets: Bool) -> CURLSettings {
        var settings = CURLSettings()
        guard configuration.resolver?.localNames.contains(host) != true else { return settings }
        if let resolver = configuration.resolver as? any ServerResolver {
            settings.add("--doh-url", revealsSecrets ? resolver.url : URLRedaction.redact(resolver.url))
        } else if configuration.resolver != nil {
            settings.remarks.append("curl does not have the session's resolver")
        }
        return settings
    }

    /// Returns the settings of the session that no option of curl expresses.
    private func remarks(on request: Request, _ host: String) -> [String] {
        var remarks: [String] = []
        if request.url.lowercasedASCII().hasBytePrefix("https:"),
            (try? configuration.serverTrustManager?.serverTrustEvaluator(forHost: host)) != nil
        {
            remarks.append("curl does not ask the evaluator of \(host), such as pins")
        }
        if let store = configuration.secureHosts, store.path == nil {
            remarks.append("curl does not have the session's HSTS store")
        }
        if let store = configuration.alternatives, store.path == nil {
            remarks.append("curl does not have the session's alternative services")
        }
        return remarks
    }
}
