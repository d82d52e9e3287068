#if Configuration
import Configuration
import Testing
import TrellisCore
import TrellisConfiguration
import TrellisNameServices

/// Settings change the TLS, the proxy and the resolver of the defaults, and leave the values that they do not name.
struct ConnectionDefaultsTests {
    private static func configuration(
        _ settings: [String: SettingValue], _ change: (inout SessionConfiguration) throws -> Void
    ) async throws -> SessionConfiguration {
        var defaults = SessionConfiguration()
        try change(&defaults)
        return try await SessionConfiguration(reading: SettingCase.reader(settings), defaults: defaults)
    }

    /// The key of the setting that is refused.
    private static func refused(
        _ settings: [String: SettingValue], _ change: (inout SessionConfiguration) throws -> Void
    ) async -> String? {
        let error = await #expect(throws: InvalidSetting.self) { _ = try await configuration(settings, change) }
        return error?.key
    }

    // MARK: TLS

    @Test func authoritiesKeepTheirTrustInTheSystem() async throws {
        let files: [String: SettingValue] = ["tls.authorityFiles": .strings(["a.pem"])]
        let only = try await Self.configuration(files) { $0.tls.authorities = .only([.path("b.pem")]) }
        #expect(only.tls.authorities == .only([.path("a.pem")]))
        let both = try await Self.configuration(files) { $0.tls.authorities = .systemAnd([.path("b.pem")]) }
        #expect(both.tls.authorities == .systemAnd([.path("a.pem")]))
    }

    @Test func trustInTheSystemKeepsTheAuthorities() async throws {
        let without: [String: SettingValue] = ["tls.trustsSystem": .bool(false)]
        let only = try await Self.configuration(without) { $0.tls.authorities = .systemAnd([.pem("b")]) }
        #expect(only.tls.authorities == .only([.pem("b")]))
        let with: [String: SettingValue] = ["tls.trustsSystem": .bool(true)]
        let both = try await Self.configuration(with) { $0.tls.authorities = .only([.pem("b")]) }
        #expect(both.tls.authorities == .systemAnd([.pem("b")]))
    }

    @Test func anIdentityKeepsItsOtherParts() async throws {
        let identity = ClientIdentity(
            certificate: .path("own.pem"), key: .path("own.key"), passphraseTimeout: .seconds(7)
        ) { "s3cret" }
        func changed(_ settings: [String: SettingValue]) async throws -> ClientIdentity {
            let configuration = try await Self.configuration(settings) { $0.tls.clientIdentity = identity }
            return try #require(configuration.tls.clientIdentity)
        }
        let key = try await changed(["tls.clientKeyFile": .string("new.key")])
        #expect(key.certificate == .path("own.pem") && key.key == .path("new.key"))
        #expect(try await key.passphrase?() == "s3cret")
        #expect(key.passphraseTimeout == .seconds(7))
        let bundle = try await changed([
            "tls.clientCertificateFile": .string("own.p12"), "tls.clientKeyFile": .string(""),
            "tls.clientPassphrase": .string("other"),
        ])
        #expect(bundle.certificate == .path("own.p12") && bundle.key == nil)
        #expect(try await bundle.passphrase?() == "other")
    }

    // MARK: Proxies

    @Test func theCredentialsOfAProxyAreChanged() async throws {
        let settings: [String: SettingValue] = [
            "proxy.password": .string("new"), "proxy.authentication": .string("basic"),
        ]
        let configuration = try await Self.configuration(settings) { defaults in
            defaults.proxy = .always(
                try Proxy("http://proxy.example:3128", username: "ann", password: "old"), except: "localhost")
        }
        guard case .always(let proxies, let exceptions) = configuration.proxy.rule else {
            Issue.record("the proxy is gone")
            return
        }
        let expected = try Proxy(
            "http://proxy.example:3128", username: "ann", password: "new", authentication: .basic)
        #expect(proxies == [expected])
        #expect(exceptions == "localhost")
    }

    @Test func theExceptionsOfProxiesAreChanged() async throws {
        let list = [try Proxy("http://a.example", username: "ann", password: "s3cret"), Proxy.direct]
        let configuration = try await Self.configuration(["proxy.exceptions": .string(".internal")]) { defaults in
            defaults.proxy = .always(list, except: "localhost")
        }
        guard case .always(let proxies, let exceptions) = configuration.proxy.rule else {
            Issue.record("the proxies are gone")
            return
        }
        #expect(proxies == list)
        #expect(exceptions == ".internal")
    }

    /// The password of a proxy is not meant for another one.
    @Test func anotherProxyKeepsTheExceptionsAndNotThePassword() async throws {
        let settings: [String: SettingValue] = ["proxy.url": .string("http://other.example:3128")]
        let configuration = try await Self.configuration(settings) { defaults in
            let proxy = try Proxy("http://proxy.example", username: "ann", password: "old", authentication: .digest)
            defaults.proxy = .always(proxy, except: "localhost")
        }
        guard case .always(let proxies, let exceptions) = configuration.proxy.rule else {
            Issue.record("the proxy is gone")
            return
        }
        #expect(proxies == [try Proxy("http://other.example:3128", authentication: .digest)])
        #expect(exceptions == "localhost")
    }

    @Test func credentialsForOneOfSeveralProxiesAreRefused() async throws {
        let list = [try Proxy("http://a.example"), try Proxy("http://b.example")]
        let key = await Self.refused(["proxy.username": .string("ann")]) { $0.proxy = .always(list) }
        #expect(key == "proxy.username")
        let ofEnvironment = await Self.refused(["proxy.exceptions": .string("a")]) { $0.proxy = .environment }
        #expect(ofEnvironment == "proxy.exceptions")
    }

    @Test func aScriptKeepsTheCredentials() async throws {
        let proxy = try Proxy("http://proxy.example:3128", username: "ann", password: "s3cret")
        let configuration = try await Self.configuration(["proxy.script": .string("new.pac")]) { defaults in
            defaults.proxy = .automatic(.file("old.pac"), credentials: [proxy])
        }
        guard case .automatic(_, let credentials) = configuration.proxy.rule else {
            Issue.record("the script is gone")
            return
        }
        #expect("\(configuration.proxy)".contains("new.pac"))
        #expect(credentials == [proxy])
    }

    // MARK: Egress

    @Test func anEgressPolicyKeepsItsOtherRules() async throws {
        var present = try EgressPolicy().denying("10.0.0.0/8")
        present.ports = [443]
        let settings: [String: SettingValue] = ["egress.deniedNetworks": .strings(["::/0"])]
        let more = try await Self.configuration(settings) { $0.egress = present }
        #expect(more.egress?.deniedNetworks.map(\.description) == ["10.0.0.0/8", "::/0"])
        #expect(more.egress?.ports == [443])
        let named = try await Self.configuration(["egress.policy": .string("public")]) { $0.egress = present }
        #expect(named.egress?.deniedNetworks == EgressPolicy.publicInternet.deniedNetworks)
        #expect(named.egress?.ports == [443])
    }

    // MARK: Names

    @Test func aResolverKeepsItsOtherValues() async throws {
        var own = SessionConfiguration()
        own.timeouts.connect = .seconds(3)
        let present = try DNSOverHTTPS("https://dns.example/q", method: .get, configuration: own)
        let settings: [String: SettingValue] = ["resolver.bootstrap": .strings(["192.0.2.53"])]
        let configuration = try await Self.configuration(settings) { $0.resolver = present }
        let resolver = try #require(configuration.resolver as? DNSOverHTTPS)
        #expect(resolver.url == "https://dns.example/q" && resolver.method == .get)
        #expect(resolver.configuration.timeouts.connect == .seconds(3))
        #expect("\(resolver.configuration.route.addresses)".contains("192.0.2.53"))
        let other = try await Self.configuration(["resolver.url": .string("https://other.example/")]) { defaults in
            defaults.resolver = present
        }
        let moved = try #require(other.resolver as? DNSOverHTTPS)
        #expect(moved.url == "https://other.example/" && moved.method == .get)
        #expect(moved.configuration.timeouts.connect == .seconds(3))
    }

    @Test func aNewResolverUsesTheProxyAndEndsWithTheService() async throws {
        let settings: [String: SettingValue] = [
            "resolver.url": .string("https://dns.example/q"), "proxy.url": .string("http://proxy.example:3128"),
        ]
        let configuration = try await Self.configuration(settings) { _ in }
        let resolver = try #require(configuration.resolver as? DNSOverHTTPS)
        #expect(resolver.users != nil)
        guard case .always(let proxies, _) = resolver.configuration.proxy.rule else {
            Issue.record("the resolver uses no proxy")
            return
        }
        #expect(proxies == [try Proxy("http://proxy.example:3128")])
        let present = try DNSOverHTTPS("https://dns.example/q")
        let kept = try await Self.configuration([:]) { $0.resolver = present }
        #expect(try #require(kept.resolver as? DNSOverHTTPS).users == nil)
    }
}
#endif
