#if Configuration
import Foundation
import TrellisNameServices

@testable import TrellisCore

extension SettingCase {
    /// A case for each setting.
    static let all: [SettingCase] = [general, connections, routes, security, retries, limits, stores].flatMap { $0 }

    private static let general: [SettingCase] = [
        SettingCase("baseURL", .string("https://api.example.com/v2/"), "https://api.example.com/v2/") {
            "\($0.baseURL.map { "\($0)" } ?? "none")"
        },
        SettingCase(
            "headers", .strings(["X-API-Key: a:b", "Accept-Charset:utf-8"]), "X-API-Key=a:b;Accept-Charset=utf-8"
        ) {
            $0.defaultHeaders.map { "\($0.name)=\($0.value)" }.joined(separator: ";")
        },
        SettingCase("queryItems", .strings(["key=a=b", "empty="]), "key=a=b;empty=") {
            $0.defaultQueryItems.map { "\($0)" }.joined(separator: ";")
        },
        SettingCase("userAgent", .string("service/1.0"), "service/1.0") { $0.userAgent ?? "none" },
        SettingCase("accept", .string("application/json"), "application/json") { $0.accept ?? "none" },
        SettingCase("acceptLanguage", .string("fi"), "fi") { $0.acceptLanguage ?? "none" },
        SettingCase("httpVersion", .string("http3Only"), "http3Only") { "\($0.httpVersion)" },
        SettingCase("decodesContent", .bool(false), "false") { "\($0.decodesContent)" },
        SettingCase("maximumBodySize", .int(1_000), "bytes(1000)") { "\($0.maximumBodySize)" },
        SettingCase("maximumHeaderSize", .int(2_000), "2000") { "\($0.maximumHeaderSize)" },
        SettingCase("timeouts.connect", .double(2.5), "2.5 seconds") { text($0.timeouts.connect) },
        SettingCase("timeouts.responseHead", .int(3), "3.0 seconds") { text($0.timeouts.responseHead) },
        SettingCase("timeouts.idle", .double(4.5), "4.5 seconds") { text($0.timeouts.idle) },
        SettingCase("timeouts.total", .string("none"), "none") { text($0.timeouts.total) },
    ]

    private static let connections: [SettingCase] = [
        SettingCase("limits.total", .int(7), "7") { "\($0.limits.total)" },
        SettingCase("limits.perOrigin", .int(3), "3") { "\($0.limits.perOrigin)" },
        SettingCase("limits.requestsPerOrigin", .int(4), "4") { "\($0.limits.requestsPerOrigin ?? 0)" },
        SettingCase("limits.idleLifetime", .int(5), "5.0 seconds") { "\($0.limits.idleLifetime)" },
        SettingCase("limits.maximumLifetime", .double(60), "60.0 seconds") { "\($0.limits.maximumLifetime)" },
        SettingCase("http2.pingInterval", .string("none"), "none") { text($0.http2.pingInterval) },
        SettingCase("http2.pongTimeout", .double(2.5), "2.5 seconds") { text($0.http2.pongTimeout) },
        SettingCase("http2.idlePingInterval", .int(60), "60.0 seconds") { text($0.http2.idlePingInterval) },
        SettingCase("http2.maximumStreamWindow", .int(1 << 20), "1048576") { "\($0.http2.maximumStreamWindow)" },
        SettingCase("engines", .int(3), "3 engines") { "\($0.engines)" },
        SettingCase("followsNetworkChanges", .bool(false), "false") { "\($0.followsNetworkChanges)" },
        SettingCase("bandwidth.upload", .int(50_000), "50000 5000") { text($0.bandwidth.upload) },
        SettingCase("bandwidth.uploadBurst", .int(9), with: ["bandwidth.upload": .int(50_000)], "50000 9") {
            text($0.bandwidth.upload)
        },
        SettingCase("bandwidth.download", .int(80_000), "80000 8000") { text($0.bandwidth.download) },
        SettingCase("bandwidth.downloadBurst", .int(8), with: ["bandwidth.download": .int(80_000)], "80000 8") {
            text($0.bandwidth.download)
        },
    ]

    private static let someProxy: [String: SettingValue] = ["proxy.url": .string("http://proxy.example:3128")]

    private static let routes: [SettingCase] = [
        SettingCase("proxy.url", .string("http://proxy.example:3128"), "http://proxy.example:3128") {
            proxies($0).map(\.url).joined(separator: ";")
        },
        SettingCase("proxy.username", .string("ann"), with: someProxy, "true") {
            "\(proxies($0) == [try Proxy("http://proxy.example:3128", username: "ann")])"
        },
        SettingCase("proxy.password", .string("s3cret"), with: someProxy, "true") {
            "\(proxies($0) == [try Proxy("http://proxy.example:3128", password: "s3cret")])"
        },
        SettingCase("proxy.authentication", .string("digest"), with: someProxy, "digest") {
            proxies($0).map(\.authentication.rawValue).joined(separator: ";")
        },
        SettingCase("proxy.exceptions", .string(".example.com"), with: someProxy, "true") { configuration in
            guard case .always(_, let exceptions) = configuration.proxy.rule else { return "none" }
            return "\(exceptions.contains(host: "www.example.com", port: 80))"
        },
        SettingCase(
            "proxy.script", .string("https://wpad.example/proxy.pac"), "PACScript(https://wpad.example/proxy.pac)"
        ) {
            guard case .automatic(let script, _) = $0.proxy.rule else { return "none" }
            return "\(script)"
        },
        SettingCase("proxy.coolDown", .double(1.5), "1.5 seconds") { "\($0.proxy.coolDown)" },
        SettingCase("route.unixSocket", .string("/run/docker.sock"), "/run/docker.sock") {
            $0.route.unixSocket?.description ?? "none"
        },
        SettingCase("route.source", .string("eth0"), "eth0") { $0.route.source?.description ?? "none" },
        SettingCase("route.addressFamily", .string("ipv6"), "ipv6") { $0.route.addressFamily.rawValue },
        SettingCase("resolver.url", .string("https://dns.example/dns-query"), "https://dns.example/dns-query") {
            ($0.resolver as? DNSOverHTTPS)?.url ?? "none"
        },
        SettingCase(
            "resolver.bootstrap", .strings(["192.0.2.53"]),
            with: ["resolver.url": .string("https://dns.example/dns-query")], "true"
        ) {
            let resolver = $0.resolver as? DNSOverHTTPS
            return "\(resolver.map { "\($0.configuration.route.addresses)".contains("192.0.2.53") } ?? false)"
        },
        SettingCase("egress.policy", .string("public"), "true") { "\($0.egress == .publicInternet)" },
        SettingCase(
            "egress.allowedNetworks", .strings(["10.1.0.0/16", "::1"]), with: ["egress.policy": .string("public")],
            "10.1.0.0/16 ::1/128"
        ) { text($0.egress?.allowedNetworks.suffix(2)) },
        SettingCase(
            "egress.deniedNetworks", .strings(["198.51.100.7"]), with: ["egress.policy": .string("public")],
            "198.51.100.7/32"
        ) { text($0.egress?.deniedNetworks.suffix(1)) },
    ]

    private static func text(_ networks: ArraySlice<IPNetwork>?) -> String {
        networks?.map(\.description).joined(separator: " ") ?? "none"
    }

    private static let security: [SettingCase] = [
        SettingCase("tls.authorityFiles", .strings(["ca.pem", "b.pem"]), "systemAnd ca.pem;b.pem") {
            text($0.tls.authorities)
        },
        SettingCase(
            "tls.trustsSystem", .bool(false), with: ["tls.authorityFiles": .strings(["ca.pem"])], "only ca.pem"
        ) { text($0.tls.authorities) },
        SettingCase("tls.revocationListFiles", .strings(["a.crl"]), "a.crl") {
            $0.tls.revocationLists.map(\.name).joined(separator: ";")
        },
        SettingCase("tls.requiresStapledResponse", .bool(true), "true") { "\($0.tls.requiresStapledResponse)" },
        SettingCase("tls.minimumVersion", .string("1.3"), "1.3") { $0.tls.minimumVersion.rawValue },
        SettingCase("tls.maximumVersion", .string("1.2"), "1.2") { $0.tls.maximumVersion?.rawValue ?? "none" },
        SettingCase("tls.cipherList", .string("ECDHE+AESGCM"), "ECDHE+AESGCM") { $0.tls.cipherList ?? "none" },
        SettingCase("tls.tls13CipherSuites", .string("TLS_AES_256_GCM_SHA384"), "TLS_AES_256_GCM_SHA384") {
            $0.tls.tls13CipherSuites ?? "none"
        },
        SettingCase("tls.clientCertificateFile", .string("client.pem"), "client.pem") {
            $0.tls.clientIdentity?.certificate.path ?? "none"
        },
        SettingCase(
            "tls.clientKeyFile", .string("client.key"), with: ["tls.clientCertificateFile": .string("client.pem")],
            "client.key"
        ) { $0.tls.clientIdentity?.key?.path ?? "none" },
        SettingCase(
            "tls.clientPassphrase", .string("s3cret"), with: ["tls.clientCertificateFile": .string("client.pem")],
            "s3cret"
        ) { try await $0.tls.clientIdentity?.passphrase?() ?? "none" },
        SettingCase("tls.keyLogFile", .string("keys.txt"), "keys.txt") { $0.tls.keyLogFile ?? "none" },
        SettingCase("tls.fileCheckInterval", .int(9), "9.0 seconds") { "\($0.tls.fileCheckInterval)" },
        SettingCase("collectsServerTrust", .bool(true), "true") { "\($0.collectsServerTrust)" },
    ]
}

// MARK: Properties as text

extension SettingCase {
    static func text(_ duration: Duration?) -> String { duration.map { "\($0)" } ?? "none" }

    private static func text(_ limit: BandwidthLimit?) -> String {
        limit.map { "\($0.bytesPerSecond) \($0.burst)" } ?? "none"
    }

    private static func text(_ authorities: CertificateAuthorities) -> String {
        let names = authorities.sources.map(\.name).joined(separator: ";")
        return switch authorities {
        case .system: "system"
        case .only: "only \(names)"
        case .systemAnd: "systemAnd \(names)"
        }
    }

    private static func proxies(_ configuration: SessionConfiguration) -> [Proxy] {
        if case .always(let proxies, _) = configuration.proxy.rule { proxies } else { [] }
    }
}
#endif
