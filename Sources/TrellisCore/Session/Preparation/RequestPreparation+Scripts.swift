import CurlEngine

/// The requests for proxy scripts, which are sent without the steps, the default fields and the proxies of the session.
extension RequestPreparation {
    /// The largest size of a script, in bytes.
    static let scriptSizeLimit = 1 << 20
    /// The time for fetching a script.
    static let scriptLimit = Duration.seconds(30)

    /// The preparation of the requests for scripts. It stays the same, so that files are not read and evaluators and passphrases not asked
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
