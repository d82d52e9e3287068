import CCurl
import Testing
import TrellisTesting

@testable import CurlEngine

/// OpenSSL's functions are called on the objects of libcurl's TLS library, which must be that OpenSSL.
@Suite(.timeLimit(.minutes(3)))
struct TLSLibraryTests {
    /// libcurl's text about its libraries, and OpenSSL's about itself.
    @Test(arguments: [
        ("OpenSSL/3.0.17", "OpenSSL 3.0.17 1 Jul 2025"), ("OpenSSL/1.1.1w", "OpenSSL 1.1.1w  11 Sep 2023"),
        ("OpenSSL/3.5.0", "OpenSSL 3.5.0-dev "), ("quictls/3.1.4", "OpenSSL 3.1.4+quic 24 Oct 2023"),
        ("LibreSSL/3.8.2", "LibreSSL 3.8.2"), ("BoringSSL", "BoringSSL"),
        ("AWS-LC/1.29.0", "OpenSSL 1.1.1 (compatible; AWS-LC 1.29.0)"),
        ("(GnuTLS/3.7.9) OpenSSL/3.0.17", "OpenSSL 3.0.17 1 Jul 2025"),
        ("OpenSSL/3.0.17 (GnuTLS/3.7.9)", "OpenSSL 3.0.17 1 Jul 2025"),
    ])
    func theSameLibrary(_ curl: String, _ openssl: String) {
        #expect(unsafe ccurl_tls_is_same_library(curl, openssl))
    }

    @Test(arguments: [
        ("GnuTLS/3.7.9", "OpenSSL 3.0.17 1 Jul 2025"), ("wolfSSL/5.6.3", "OpenSSL 3.0.17 1 Jul 2025"),
        ("OpenSSL/3.0.17", "OpenSSL 3.0.1 14 Dec 2021"), ("OpenSSL/3.0.1", "OpenSSL 3.0.17 1 Jul 2025"),
        ("OpenSSL/1.1.1w", "OpenSSL 1.1.1v  1 Aug 2023"), ("OpenSSL/3.0.17", "LibreSSL 3.0.17"),
        ("OpenSSL/3.0.17", "OpenSSL 1.1.1 (compatible; AWS-LC 1.29.0)"), ("", "OpenSSL 3.0.17"), ("", ""),
        ("GnuTLS/3.7.9 (OpenSSL/3.0.17)", "OpenSSL 3.0.17 1 Jul 2025"),
        ("(OpenSSL/3.0.17) (GnuTLS/3.7.9)", "OpenSSL 3.0.17 1 Jul 2025"),
    ])
    func anotherLibrary(_ curl: String, _ openssl: String) {
        #expect(unsafe !ccurl_tls_is_same_library(curl, openssl))
    }

    @Test func theRunningLibcurlUsesTheOpenSSLAtHand() {
        #expect(LibcurlFeatures.current.hasOpenSSL, "\(LibcurlFeatures.current.lackOfOpenSSL)")
    }

    /// Without that OpenSSL, nothing is sent over TLS, because less would be checked than promised.
    @Test func withoutOpenSSLThereIsNoTLS() async throws {
        let (secure, plain) = try (LoopbackServer.https { _ in .text("x") }, LoopbackServer.http { _ in .text("y") })
        defer { secure.stop(); plain.stop() }
        var configuration = EngineConfiguration()
        configuration.usesTLS = false
        let run = EngineRun(configuration)
        var rules = TransferTrust.Rules()
        rules.authorities = .unverified
        for trust in [TransferTrust.system, TransferTrust(server: rules, proxy: rules, number: 1)] {
            let options = try TransferOptions(url: WireURL(parsing: secure.url()), trust: trust, method: "GET")
            let end = await run.perform(options).end
            #expect(end?.failure?.kind == .unsupported)
            #expect(end?.failure?.message.contains("OpenSSL") == true)
        }
        var parts = TransferRoute.Parts()
        parts.proxy = EngineConfiguration.ProxyServer(
            scheme: .https, host: "127.0.0.1", port: 3128, credentials: nil)
        let proxied = try TransferOptions(
            url: WireURL(parsing: plain.url()), route: TransferRoute(parts), method: "GET")
        #expect(await run.perform(proxied).end?.failure?.kind == .unsupported)
        #expect(try await run.perform(EngineRun.get(plain.url())).text == "y")
        await run.finish()
        #expect(secure.requests.isEmpty)
    }
}
