import CurlEngine
import FoundationEssentials
import Testing

@testable import TrellisCore

/// The URL and the credentials of a proxy.
struct ProxyTests {
    @Test(arguments: [
        ("http://proxy.example:3128", "http://proxy.example:3128"), ("http://proxy.example", "http://proxy.example:80"),
        ("HTTP://proxy.example:3128/", "http://proxy.example:3128"), ("http://127.0.0.1:1", "http://127.0.0.1:1"),
        ("http://[::1]:8080", "http://[::1]:8080"), ("https://proxy.example", "https://proxy.example:443"),
        ("https://proxy.example:80", "https://proxy.example:80"),
        ("socks4://proxy.example", "socks4://proxy.example:1080"),
        ("socks4a://proxy.example", "socks4a://proxy.example:1080"), ("socks5://[::1]", "socks5://[::1]:1080"),
        ("socks5h://proxy.example:80", "socks5h://proxy.example:80"), ("socks://p.example", "socks4://p.example:1080"),
        ("socks5h://ann:x@[::1]:443/", "socks5h://[::1]:443"), ("SOCKS5://P.example:9/", "socks5://P.example:9"),
        ("socks5h://localhost/run/a%20b", "socks5h://localhost/run/a%20b"),
        ("http://bertha:secret@proxy.example:1", "http://proxy.example:1"),
    ])
    func itHasHostAndPort(_ text: String, _ url: String) throws {
        let proxy = try Proxy(text)
        #expect(proxy.url == url)
        #expect(proxy.engine?.url == url)
        #expect(proxy.authentication == .any)
    }

    @Test(arguments: [
        "", "proxy.example", "proxy.example:3128", "/a", "http://[fe80::1%25eth0]:3128",
        "socks5://a:b%25@[fe80::1%25eth0]", "ftp://proxy.example", "http://", "http://:80",
        "http://proxy.example/path", "https://proxy.example/path", "socks5://proxy.example/path", "direct://",
        "socks6://a", "http://proxy.example?a=b",
        "http://proxy.example#a", "http://proxy.example:99999", "http://bertha:secret@",
        "http://ann:se/cret@proxy.example", "socks7://bertha:secret@proxy.example",
        "http://bertha:secr%0Aet@proxy.example",
        "bertha:secret@proxy.example:3128",
    ])
    func whatIsNoneIsAnError(_ text: String) {
        let error = #expect(throws: TrellisError.self) { try Proxy(text) }
        #expect(error?.kind == .invalidURL)
        #expect(error?.description.contains("proxy") == true)
        for secret in ["bertha", "secr", "cret"] { #expect(error?.description.contains(secret) == false) }
    }

    @Test func theErrorSaysWhatItNeeds() {
        let error = #expect(throws: TrellisError.self) { try Proxy("ftp://proxy.example:1080") }
        #expect(
            error?.description
                == "ftp://proxy.example:1080: the URL cannot be requested: it is not that of a proxy: it does not begin with "
                + "http://, https://, socks4://, socks4a://, socks5://, socks5h://")
    }

    typealias Credentials = EngineConfiguration.ProxyServer.Credentials

    /// The URL, the user name and password beside the URL, and the resulting credentials.
    static let credentials: [(String, String?, String?, [String]?)] = [
        ("http://p.example", nil, nil, nil), ("http://p.example", "ann", "x", ["ann", "x"]),
        ("http://p.example", "ann", nil, ["ann", ""]), ("http://p.example", nil, "x", ["", "x"]),
        ("http://ann:x@p.example", nil, nil, ["ann", "x"]), ("http://ann@p.example", nil, nil, ["ann", ""]),
        ("http://a%20b%40:%C3%A4%3A@p.example", nil, nil, ["a b@", "\u{e4}:"]),
        ("http://ann:x@p.example", "bob", nil, ["bob", "x"]), ("http://ann:x@p.example", "bob", "y", ["bob", "y"]),
    ]

    @Test(arguments: credentials)
    func credentialsAreGivenBesideOrInTheURL(
        _ url: String, _ username: String?, _ password: String?, _ expected: [String]?
    ) throws {
        for authentication in Proxy.Authentication.allCases {
            let proxy = try Proxy(
                url, username: username, password: password, authentication: authentication)
            #expect(proxy.engine?.credentials.map { [$0.username, $0.password] } == expected)
            #expect(proxy.engine?.credentials.map(\.isDigest) == expected.map { _ in authentication == .digest })
            #expect(proxy.authentication == authentication)
        }
    }

    @Test(arguments: ["\n", "\u{0}", "\u{7f}", "\r", "\t", ":"], Proxy.Authentication.allCases)
    func whatNoFieldCanHoldIsAnError(_ character: String, _ authentication: Proxy.Authentication) throws {
        let name = "an" + character + "n", password = "se" + character + "cret"
        func error(_ username: String, _ password: String) -> TrellisError? {
            do {
                _ = try Proxy(
                    "http://p.example", username: username, password: password, authentication: authentication)
                return nil
            } catch { return error as? TrellisError }
        }
        let isColon = character == ":"
        #expect(error(name, "x")?.kind == (isColon && authentication == .digest ? nil : .invalidRequest))
        #expect(error("ann", password)?.kind == (isColon ? nil : .invalidRequest))
        guard !isColon else { return }
        let text = try #require(error("ann", password)).description
        #expect(text.contains("Proxy-Authorization") && text.contains("control character") && !text.contains("cret"))
    }

    /// An older libcurl would prove to the HTTP proxy that it knows the SOCKS proxy's password, so that the session makes the proofs.
    @Test func digestBehindASOCKSProxy() throws {
        let proxy = try Proxy("http://bob:y@b.example", authentication: .digest)
        let open = try proxy.reached(through: try Proxy("socks5h://a.example"))
        #expect(open.engine?.credentials?.isDigest == true && open.engine?.needsProofs == false)
        let front = try Proxy("socks5h://ada:x@a.example")
        let closed = try proxy.reached(through: front)
        #expect(closed.engine?.credentials?.isDigest == true && closed.engine?.first?.credentials?.username == "ada")
        #expect(closed.engine?.needsProofs == !LibcurlFeatures.current.separatesProxyCredentials)
        let either = try Proxy("http://bob:y@b.example").reached(through: front)
        #expect(either.engine?.needsProofs == false && either.withDigest?.engine == closed.engine)
    }

    @Test func itTellsWhereItIsAndNotWhoAsks() throws {
        let open = try Proxy("http://p.example:3128")
        #expect("\(open)" == "Proxy(http://p.example:3128)")
        let closed = try Proxy("http://bertha:secret@p.example:3128", authentication: .digest)
        #expect("\(closed)" == "Proxy(http://p.example:3128, credentials REDACTED)")
        #expect(open != closed)
    }
}

/// The error messages of proxies that fail.
struct ProxyFailureTests {
    @Test(
        arguments: [
            (.nameResolution(proxy: "p:1", reason: "no"), "the name of the proxy p:1 could not be resolved: no"),
            (.unreachable(proxy: "p:1", reason: "no"), "no connection to the proxy p:1: no"),
            (
                .unauthorized(proxy: "p:1", status: 407, hasCredentials: false),
                "the proxy p:1 asks for credentials (407), and the session has none for it"
            ),
            (
                .unauthorized(proxy: "p:1", status: 401, hasCredentials: true),
                "the proxy p:1 does not accept the session's credentials, or not in this way (401)"
            ),
            (.refused(proxy: "p:1", status: 403), "the proxy p:1 makes no tunnel to the server: 403 (Forbidden)"),
            (.refused(proxy: "p:1", status: 599), "the proxy p:1 makes no tunnel to the server: 599"),
            (.noTunnel(proxy: "p:1", reason: "no"), "the proxy p:1 did not answer the request for a tunnel: no"),
        ] as [(TrellisError.ProxyFailure, String)])
    func theySayWhatHappened(_ failure: TrellisError.ProxyFailure, _ text: String) {
        #expect(TrellisError(.proxyFailed(failure)).description == text)
    }
}
