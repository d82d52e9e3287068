#if Configuration
import TrellisCore
import TrellisNameServices

/// The settings of TLS, proxies, names and servers that belong together.
extension SettingsDraft {
    func completeTLS(_ configuration: inout SessionConfiguration) throws(InvalidSetting) {
        if has("tls.authorityFiles") || has("tls.trustsSystem") { try completeAuthorities(&configuration) }
        if let maximum = configuration.tls.maximumVersion, maximum < configuration.tls.minimumVersion {
            let key = has("tls.maximumVersion") ? "tls.maximumVersion" : "tls.minimumVersion"
            throw InvalidSetting(key, reason: "the newest version is older than the oldest one")
        }
        let present = configuration.tls.clientIdentity
        if try hasSettings(of: "tls.client", needing: "tls.clientCertificateFile", unless: present != nil),
            let certificate = tls.certificate
        {
            configuration.tls.clientIdentity =
                if let limit = present?.passphraseTimeout {
                    ClientIdentity(
                        certificate: certificate, key: tls.key, passphraseTimeout: limit, passphrase: tls.passphrase)
                } else {
                    ClientIdentity(certificate: certificate, key: tls.key, passphrase: tls.passphrase)
                }
        }
    }

    private func completeAuthorities(_ configuration: inout SessionConfiguration) throws(InvalidSetting) {
        let sources = tls.authorities
        if !tls.trustsSystem, sources.isEmpty, !has("tls.authorityFiles") {
            throw InvalidSetting("tls.trustsSystem", reason: "no authority is trusted without tls.authorityFiles")
        }
        configuration.tls.authorities = tls.trustsSystem ? .systemAnd(sources) : .only(sources)
        if sources.isEmpty, tls.trustsSystem { configuration.tls.authorities = .system }
    }

    // MARK: Proxies

    func completeProxy(_ configuration: inout SessionConfiguration) throws(InvalidSetting) {
        let coolDown = proxy.coolDown ?? configuration.proxy.coolDown
        if let url = proxy.url {
            if proxy.script != nil { throw InvalidSetting("proxy.script", reason: "there is proxy.url as well") }
            configuration.proxy = try proxyConfiguration(of: url, configuration.proxy)
        } else if let script = proxy.script {
            if let key = proxyDetails.first { throw InvalidSetting(key, reason: "it means nothing without proxy.url") }
            var known: [Proxy] = []
            if case .automatic(_, let credentials) = configuration.proxy.rule { known = credentials }
            configuration.proxy = .automatic(script, credentials: known)
        } else if let key = proxyDetails.first {
            configuration.proxy = try changed(configuration.proxy, by: key)
        }
        configuration.proxy.coolDown = coolDown
    }

    /// The keys with values that belong to a single proxy.
    private var credentialDetails: [String] {
        ["proxy.username", "proxy.password", "proxy.authentication"].filter(has)
    }

    /// The keys with values that belong to proxies with fixed URLs.
    private var proxyDetails: [String] { credentialDetails + ["proxy.exceptions"].filter(has) }

    /// Returns the proxies of the defaults with the settings.
    ///
    /// - Parameter key: The key of the first setting.
    private func changed(_ present: ProxyConfiguration, by key: String) throws(InvalidSetting) -> ProxyConfiguration {
        guard case .always(let proxies, let exceptions) = present.rule,
            proxies.count == 1 || credentialDetails.isEmpty
        else { throw InvalidSetting(key, reason: "it means nothing without proxy.url") }
        return try settingErrors(to: key) {
            let changed = try proxies.map {
                try $0.changed(
                    username: proxy.username, password: proxy.password, authentication: proxy.authentication)
            }
            return ProxyConfiguration.always(changed, except: proxy.exceptions ?? exceptions)
        }
    }

    /// Returns the proxy of a URL. The exceptions and the scheme of a proxy of the defaults stay; its name and its password do not, because
    /// they are meant for another URL.
    private func proxyConfiguration(
        of url: String, _ present: ProxyConfiguration
    ) throws(InvalidSetting) -> ProxyConfiguration {
        let fixed: [String: ProxyConfiguration] = ["direct": .direct, "environment": .environment]
        if let configuration = fixed[url] {
            if let key = proxyDetails.first {
                throw InvalidSetting(key, reason: "proxy.url is the word \(url), and names no proxy")
            }
            return configuration
        }
        var (authentication, exceptions) = (Proxy.Authentication.any, ProxyExceptions(""))
        if case .always(let proxies, let except) = present.rule {
            exceptions = except
            if let known = proxies.first, proxies.count == 1, known != .direct { authentication = known.authentication }
        }
        return try settingErrors(to: "proxy.url") {
            ProxyConfiguration.always(
                try Proxy(
                    url, username: proxy.username, password: proxy.password,
                    authentication: proxy.authentication ?? authentication),
                except: proxy.exceptions ?? exceptions)
        }
    }

    // MARK: Names

    func completeResolver(_ configuration: inout SessionConfiguration) throws(InvalidSetting) {
        let present = configuration.resolver as? DNSOverHTTPS
        guard try hasSettings(of: "resolver.", needing: "resolver.url", unless: present != nil),
            let url = resolver.url ?? present?.url
        else { return }
        let own = present?.configuration ?? Self.resolverConfiguration(configuration)
        let method = present?.method ?? .post
        // Without addresses first, so that an error is the URL's.
        try settingErrors(to: "resolver.url") { _ = try DNSOverHTTPS(url, method: method) }
        configuration.resolver = try settingErrors(to: "resolver.bootstrap") {
            var made = try DNSOverHTTPS(
                url, method: method, bootstrap: resolver.bootstrap, localNames: present?.localNames ?? .standard,
                configuration: own)
            made.users = ResolverUsers()
            return made
        }
    }

    /// Sets the policy of the defaults, or a new one, with the networks of the settings. Its other rules stay.
    func completeEgress(_ configuration: inout SessionConfiguration) throws(InvalidSetting) {
        let present = configuration.egress
        guard try hasSettings(of: "egress.", needing: "egress.policy", unless: present != nil),
            var policy = present ?? egress.policy
        else { return }
        if let named = egress.policy {
            (policy.allowedNetworks, policy.deniedNetworks) = (named.allowedNetworks, named.deniedNetworks)
        }
        policy.allowedNetworks += egress.allowed
        policy.deniedNetworks += egress.denied
        configuration.egress = policy
    }

    /// Returns the settings of the session of a resolver, which trusts what the session trusts, and goes through its proxies.
    private static func resolverConfiguration(_ given: SessionConfiguration) -> SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.tls = given.tls
        configuration.proxy = given.proxy
        // The identity is meant for the servers of requests. A DNS server may ask for one too.
        configuration.tls.clientIdentity = nil
        return configuration
    }
}
#endif
