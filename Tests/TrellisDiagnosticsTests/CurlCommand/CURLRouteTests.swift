import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisDiagnostics

/// The options of curl for routes, proxies and trust, and the remarks on what the options do not express.
struct CURLRouteTests {
    private static let start = "curl ", end = " http://server.example/"

    /// Returns the options and the remarks in the description of a request.
    private static func options(
        _ request: Request = Request("http://server.example/"), variables: [String: String] = [:],
        _ change: (inout CURLDescriptionOptions) -> Void = { _ in }
    ) -> String {
        var options = CURLDescriptionOptions()
        options.environment = ProxyEnvironment(variables)
        options.environment.includesLoopback = true
        change(&options)
        let text = request.cURLDescription(options)
        return String(text.dropFirst(start.count)).replacing(" \(request.url)", with: "", maxReplacements: 1)
            .replacing(request.url, with: "", maxReplacements: 1)
    }

    // MARK: Routes

    @Test func theRouteOfTheRequestIsShownWithoutASession() throws {
        var route = Route()
        route.addressFamily = .ipv4
        route.source = try SourceAddress("eth0")
        route.connectTo = [try ConnectTo("::b.example:81")]
        route.addresses = try StaticAddresses("a.example:*:192.0.2.7")
        let expected = "--ipv4 --interface eth0 --connect-to ::b.example:81 --resolve a.example:80:192.0.2.7"
        #expect(Self.options(Request("http://server.example/").withRoute(route)) == expected)
        #expect(Self.options { $0.route = route } == expected)
        let socket = try Route.unixSocket("/run/x")
        let request = Request("http://server.example/").withRoute(socket)
            .withProxy(.always(try Proxy("http://p.example")))
        #expect(Self.options(request) { $0.route = route } == "--unix-socket /run/x")
        #expect(Self.options(Request("/relative").withRoute(socket)) == "")
    }

    // MARK: Proxies

    /// curl decodes the name and the password.
    @Test func aPercentSignOfAPasswordIsEncoded() throws {
        let proxy = try Proxy("http://p.example:3128", username: "ann", password: "s%2F")
        let request = Request("http://server.example/").withProxy(.always(proxy))
        #expect(Self.options(request) { $0.revealsSecrets = true }.contains("ann:s%252F"))
    }

    @Test func theProxyOfTheRequestIsShownWithoutASession() throws {
        let proxy = try Proxy("http://p.example:3128", username: "ann", password: "s")
        let request = Request("http://server.example/").withProxy(.always(proxy))
        #expect(Self.options(request) == "--proxy http://p.example:3128 --proxy-user REDACTED:REDACTED")
        #expect(Self.options(request) { $0.proxy = .direct }.hasPrefix("--proxy http://p.example:3128 "))
        #expect(Self.options { $0.proxy = .always(proxy) }.hasPrefix("--proxy http://p.example:3128 "))
    }

    /// curl reads the variables itself, so that an option is needed where the session decides otherwise.
    @Test(arguments: [
        ([:], ProxyConfiguration.direct, ""), (["http_proxy": "p.example"], .direct, "--noproxy '*'"),
        (["http_proxy": "ftp://p.example"], .direct, "--noproxy '*'"),
        (["https_proxy": "p.example"], .direct, ""),
        (["http_proxy": "p.example", "no_proxy": "server.example"], .direct, ""),
    ])
    func aDirectConnectionTakesNoProxyOfTheVariables(
        _ variables: [String: String], _ proxy: ProxyConfiguration, _ expected: String
    ) {
        #expect(Self.options(variables: variables) { $0.proxy = proxy } == expected)
        // Nothing is known about the proxies of a request without a session.
        #expect(Self.options(variables: variables) == "")
    }

    @Test func theExceptionsOfTheVariablesDoNotApplyToAProxyOfTheSession() throws {
        let proxy = ProxyConfiguration.always(try Proxy("http://p.example"), except: "other.example")
        let variables = ["no_proxy": "server.example"]
        let expected = "--proxy http://p.example:80"
        #expect(Self.options(variables: variables) { $0.proxy = proxy } == "\(expected) --noproxy ''")
        #expect(Self.options(variables: ["no_proxy": "x.example"]) { $0.proxy = proxy } == expected)
        let exempt = Request("http://other.example/").withProxy(proxy)
        #expect(Self.options(exempt, variables: ["http_proxy": "p.example"]) == "--noproxy '*'")
    }

    @Test func whatChoosesTheProxyIsARemark() throws {
        let proxy = try Proxy("http://p.example")
        #expect(Self.options { $0.proxy = .selecting { _ in [proxy] } } == " # the proxy is chosen by a function")
        #expect(Self.options { $0.proxy = .absentScript } == " # the proxy is chosen by a PAC script")
        #expect(
            Self.options { $0.proxy = .always([proxy, .direct]) }
                == "--proxy http://p.example:80 # curl does not try the other proxies")
        #expect(Self.options { $0.proxy = .always([.direct, proxy]) } == "")
        let broken = ProxyConfiguration.environment(ProxyEnvironment(["http_proxy": "ftp://x"]))
        #expect(Self.options { $0.proxy = broken }.contains(" # http_proxy does not name a proxy"))
    }

    @Test(arguments: [false, true])
    func anHTTPSProxyHasRulesOfItsOwn(_ isOwn: Bool) throws {
        let proxy = try Proxy("https://p.example")
        let options = Self.options {
            $0.proxy = .always(proxy)
            $0.hasOwnTLS = { $0 == "p.example" && isOwn }
            $0.tls = { host in
                var tls = TLSConfiguration(authorities: .only([.file("\(host).pem")]))
                if host == "p.example" {
                    tls.clientIdentity = ClientIdentity(certificate: .file("c.p12")) { "secret" }
                    tls.maximumVersion = .v1_2
                }
                return tls
            }
        }
        let identity = isOwn ? " --proxy-cert c.p12 --proxy-cert-type P12" : ""
        let remark = isOwn ? "; the passphrase of the key is missing: --proxy-pass" : ""
        #expect(
            options
                == "--proxy https://p.example:443 --proxy-cacert p.example.pem\(identity) --cacert server.example.pem"
                + " # curl has no option for the versions of TLS of the proxy\(remark)")
    }

    // MARK: Trust

    @Test func theRulesOfTLSAreOptionsAndRemarks() {
        var tls = TLSConfiguration(authorities: .only([.file("a b.pem")]))
        tls.revocationLists = [.file("list.pem")]
        tls.requiresStapledResponse = true
        tls.minimumVersion = .v1_3
        tls.maximumVersion = .v1_3
        tls.cipherList = "HIGH"
        tls.tls13CipherSuites = "TLS_AES_256_GCM_SHA384"
        tls.clientIdentity = ClientIdentity(certificate: .file("c:\\x.PFX"), key: .file("key.pem"))
        #expect(
            tls.cURLSettings.options.flatMap { $0 } == [
                "--cacert", "a b.pem", "--crlfile", "list.pem", "--ciphers", "HIGH", "--tls13-ciphers",
                "TLS_AES_256_GCM_SHA384", "--cert-status", "--tlsv1.3", "--tls-max", "1.3", "--cert",
                "c\\:\\\\x.PFX", "--cert-type", "P12", "--key", "key.pem",
            ])
        #expect(tls.cURLSettings.remarks == [])
        #expect(TLSConfiguration().cURLSettings == CURLSettings())
        #expect(TLSConfiguration.insecureWithoutAnyVerification().cURLSettings.options == [["--insecure"]])
    }

    @Test(
        arguments: [
            (.only([.file("a.pem"), .file("b.pem")]), ["--cacert b.pem"], ["single file"]),
            (.only([.pem("text")]), [], ["single file"]),
            (.systemAnd([.file("a.pem")]), ["--cacert a.pem"], ["in place of the system's"]),
        ] as [(CertificateAuthorities, [String], [String])])
    func authoritiesThatAreNotOneFileAreARemark(
        _ authorities: CertificateAuthorities, _ options: [String], _ remarks: [String]
    ) {
        let settings = TLSConfiguration(authorities: authorities).cURLSettings
        #expect(settings.options.map { $0.joined(separator: " ") } == options)
        #expect(settings.remarks.count == remarks.count)
        #expect(zip(settings.remarks, remarks).allSatisfy { $0.contains($1) })
    }

    @Test func whatIsNotInFilesIsARemark() {
        var tls = TLSConfiguration()
        tls.revocationLists = [.pem("text")]
        tls.keyLogFile = "keys.log"
        tls.clientIdentity = ClientIdentity(certificate: .file("c.pem"), key: .pem("text")) { "secret" }
        let settings = tls.cURLSettings
        #expect(settings.options == [["--cert", "c.pem"]])
        #expect(
            settings.remarks == [
                "curl reads the revocation lists from a single file: put all of them into one",
                "curl takes the path of a key log from SSLKEYLOGFILE",
                "the client certificate or its key is not in a file", "the passphrase of the key is missing: --pass",
            ])
    }
}
