#if Configuration
import Trellis

/// The settings of TLS, proxies and names that belong together.
extension SettingsDraft {
    func completeTLS(_ configuration: inout SessionConfiguration) throws(InvalidSetting) {
        let sources = tls.authorities.map { CertificateSource.path($0) }
        if has("tls.authorityFiles") {
            configuration.tls.authorities = tls.trustsSystem ? .systemAnd(sources) : .only(sources)
        } else if has("tls.trustsSystem") {
            guard tls.trustsSystem else {
                throw InvalidSetting("tls.trustsSystem", reason: "no authority is trusted without tls.authorityFiles")
            }
            configuration.tls.authorities = .system
        }
        if let maximum = configuration.tls.maximumVersion, maximum < configuration.tls.minimumVersion {
            let key = has("tls.maximumVersion") ? "tls.maximumVersion" : "tls.minimumVersion"
            throw InvalidSetting(key, reason: "the newest version is older than the oldest one")
        }
        if try has("tls.clientCertificateFile", neededBy: "tls.client") {
            let passphrase: (@Sendable () async throws -> String)? =
                if let text = tls.passphrase { { text } } else { nil }
            configuration.tls.clientIdentity = ClientIdentity(
                certificate: .path(tls.certificate), key: tls.key.map { .path($0) }, passphrase: passphrase)
        }
    }

    func completeProxy(_ configuration: inout SessionConfiguration) throws(InvalidSetting) {
        let coolDown = proxy.coolDown ?? configuration.proxy.coolDown
        if has("proxy.url") {
            if proxy.script != nil { throw InvalidSetting("proxy.script", reason: "there is proxy.url as well") }
            configuration.proxy = try proxyOfURL()
        } else if let key = proxyDetails.first {
            throw InvalidSetting(key, reason: "it means nothing without proxy.url")
        } else if let script = proxy.script {
            configuration.proxy = .automatic(script)
        }
        configuration.proxy.coolDown = coolDown
    }

    /// The keys with values that belong to a single proxy.
    private var proxyDetails: [String] {
        ["proxy.username", "proxy.password", "proxy.authentication", "proxy.exceptions"].filter(has)
    }

    private func proxyOfURL() throws(InvalidSetting) -> ProxyConfiguration {
        let fixed: [String: ProxyConfiguration] = ["direct": .direct, "environment": .environment]
        if let configuration = fixed[proxy.url] {
            if let key = proxyDetails.first {
                throw InvalidSetting(key, reason: "proxy.url is the word \(proxy.url), and names no proxy")
            }
            return configuration
        }
        return try settingErrors(to: "proxy.url") {
            .always(
                try Proxy(
                    proxy.url, username: proxy.username, password: proxy.password,
                    authentication: proxy.authentication),
                except: proxy.exceptions)
        }
    }

    func completeResolver(_ configuration: inout SessionConfiguration) throws(InvalidSetting) {
        guard try has("resolver.url", neededBy: "resolver.") else { return }
        var own = SessionConfiguration()
        own.tls = configuration.tls
        // The identity is meant for the servers of requests. A DNS server may ask for one too.
        own.tls.clientIdentity = nil
        // Without addresses first, so that an error is that of the URL.
        try settingErrors(to: "resolver.url") { _ = try DNSOverHTTPS(resolver.url) }
        configuration.resolver = try settingErrors(to: "resolver.bootstrap") {
            try DNSOverHTTPS(resolver.url, bootstrap: resolver.bootstrap, configuration: own)
        }
    }
}
#endif
