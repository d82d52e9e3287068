import CurlEngine
import TrellisCore

extension Request {
    /// Returns the options of curl for the way to the server and for the trust in the peers on it; the session's for what the
    /// request leaves open.
    func cURLRoute(_ options: CURLDescriptionOptions) -> CURLSettings {
        var settings = CURLSettings()
        // No connection is made for a URL that cannot be requested.
        guard let url = try? WireURL(parsing: url) else { return settings }
        let route = self.route ?? options.route
        settings += route.cURLSettings(port: Int(url.port))
        if route.unixSocket == nil {
            settings += options.resolver
            if let proxy = proxy ?? options.proxy {
                settings += proxy.cURLSettings(for: URLOrigin(url), options)
            }
        }
        if let tls = options.tls?(url.host) { settings += tls.cURLSettings }
        return settings
    }
}

extension Route {
    /// Returns the options of curl that set the route for a URL with a port.
    func cURLSettings(port: Int) -> CURLSettings {
        var settings = CURLSettings()
        if let unixSocket {
            settings.add(unixSocket.isAbstract ? "--abstract-unix-socket" : "--unix-socket", unixSocket.name)
            return settings
        }
        switch addressFamily {
        case .any: break
        case .ipv4: settings.add("--ipv4")
        case .ipv6: settings.add("--ipv6")
        }
        if let source { settings.add("--interface", source.name) }
        for entry in connectTo { settings.add("--connect-to", entry.description) }
        for entry in addresses.texts(anyPort: "\(port)") { settings.add("--resolve", entry) }
        return settings
    }
}

extension ProxyConfiguration {
    /// Returns the options of curl for the first proxy of an origin. Functions and scripts are not called.
    func cURLSettings(for origin: URLOrigin, _ options: CURLDescriptionOptions) -> CURLSettings {
        var settings = CURLSettings()
        let decision: ProxyDecision
        switch rule {
        case .selecting:
            settings.remarks.append("the proxy is chosen by a function")
            return settings
        case .automatic:
            settings.remarks.append("the proxy is chosen by a PAC script")
            return settings
        case .direct, .always, .environment:
            do {
                guard let known = try self.decision(for: origin) else { return settings }
                decision = known
            } catch {
                settings.remarks.append("\(error.reason)")
                return settings
            }
        }
        // curl reads the variables of the environment, unless an option says otherwise.
        let variables = try? options.environment.decision(for: origin)
        guard let proxy = decision.proxies.first, let engine = proxy.engine else {
            if variables?.proxies.isEmpty != true { settings.add("--noproxy", "*") }
            return settings
        }
        settings += proxy.cURLSettings(revealsSecrets: options.revealsSecrets)
        if options.environment.exempts(origin) { settings.add("--noproxy", "") }
        if decision.proxies.count > 1 { settings.remarks.append("curl does not try the other proxies") }
        if proxy.kind == .https, let tls = options.tls?(engine.host) {
            settings += tls.cURLProxySettings(isOfProxy: options.hasOwnTLS?(engine.host) ?? false)
        }
        return settings
    }
}

extension Proxy {
    /// Returns the options of curl that set the proxy.
    func cURLSettings(revealsSecrets: Bool) -> CURLSettings {
        // curl decodes the pair.
        func pair(_ credentials: EngineConfiguration.ProxyServer.Credentials) -> String {
            let parts = [credentials.username, credentials.password].map { $0.replacing("%", with: "%25") }
            return revealsSecrets ? parts.joined(separator: ":") : "REDACTED:REDACTED"
        }
        var settings = CURLSettings()
        guard let engine else { return settings }
        settings.add("--proxy", url)
        if let credentials = engine.credentials { settings.add("--proxy-user", pair(credentials)) }
        if engine.credentials?.isDigest == true {
            settings.add("--proxy-digest")
            settings.add("--proxytunnel")
        }
        guard let first = engine.first else { return settings }
        // curl takes the credentials of this proxy from its URL alone.
        guard let credentials = first.credentials else {
            settings.add("--preproxy", first.url)
            return settings
        }
        let pairText =
            revealsSecrets
            ? "\(PercentEncoding.encode(credentials.username)):\(PercentEncoding.encode(credentials.password))"
            : "REDACTED:REDACTED"
        settings.add("--preproxy", first.url.replacing("://", with: "://\(pairText)@", maxReplacements: 1))
        return settings
    }
}
