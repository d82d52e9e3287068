import CurlEngine
import HTTPTypes

extension Session {
    /// Returns a command line with which curl sends the same request as this session: ``Request/cURLDescription(_:)`` with the
    /// session's base URL, default query items and fields, limits, versions and trust.
    ///
    /// - Parameter options: The parts of the request that are shown, and their form; the session supplies settings that the
    ///   options leave open.
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
        let route = request.route ?? configuration.route
        options.furtherArguments += route.cURLArguments(port: Int(try preparation.parse(request.url).port))
        if route.unixSocket == nil {
            if let resolver = configuration.resolver as? DNSOverHTTPS {
                options.furtherArguments += ["--doh-url", resolver.url]
            } else if configuration.resolver != nil {
                options.furtherRemarks.append("curl does not have the session's resolver")
            }
            options.furtherArguments += try proxyArguments(of: request, options)
        }
        let host = (try? preparation.parse(request.url))?.host
        options.furtherArguments += preparation.trust.configuration(for: host ?? "").cURLArguments
        return request.cURLDescription(options)
    }

    /// Returns the curl options for the first proxy of a request. The function of a selection is not called.
    private func proxyArguments(of request: Request, _ options: CURLDescriptionOptions) throws -> [String] {
        let rule = request.proxy ?? configuration.proxy
        guard let decision = try rule.decision(for: URLOrigin(try preparation.parse(request.url))) else { return [] }
        return decision.proxies.first?.cURLArguments(revealsSecrets: options.revealsSecrets) ?? []
    }
}
