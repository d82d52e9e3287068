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
        let own = options.defaultHeaders
        for field in preparation.defaultFields where !own.contains(field.name) {
            options.defaultHeaders.append(field)
        }
        options.timeouts = options.timeouts?.completed(by: configuration.timeouts) ?? configuration.timeouts
        if options.httpVersion == .automatic { options.httpVersion = configuration.httpVersion }
        options.bandwidth.upload = options.bandwidth.upload ?? configuration.bandwidth.upload
        options.bandwidth.download = options.bandwidth.download ?? configuration.bandwidth.download
        options.decodesContent = options.decodesContent || configuration.decodesContent
        if let path = configuration.unixSocketPath {
            options.furtherArguments += ["--unix-socket", path]
        } else if let proxy = configuration.proxy {
            options.furtherArguments += proxy.cURLArguments(revealsSecrets: options.revealsSecrets)
        }
        if configuration.tls.isInsecure { options.furtherArguments.append("--insecure") }
        if let path = configuration.tls.additionalCertificateAuthorityFile {
            options.furtherArguments += ["--cacert", path]
        }
        var request = try request.asRequest()
        if let defaults = preparation.urlDefaults { request = try defaults.completing(request) }
        return request.cURLDescription(options)
    }
}
