import CurlEngine
import Testing

@testable import TrellisCore

/// The proxies that variables of the environment name. Many rows are those of Go's own tests, with the differences named.
struct ProxyEnvironmentTests {
    struct Row: CustomStringConvertible, Sendable {
        let variables: [String: String]
        let url: String
        /// The URL of the proxy and the reason; `nil` for an error.
        let decision: String?
        var description: String { "\(variables.sorted { $0.key < $1.key }) for \(url)" }

        init(_ variables: [String: String], _ url: String, _ decision: String? = nil) {
            (self.variables, self.url, self.decision) = (variables, url, decision)
        }
    }

    private func decision(_ row: Row) throws -> String {
        let origin = URLOrigin(try WireURL(parsing: row.url))
        return try ProxyEnvironment(row.variables).decision(for: origin).description
    }

    private static func http(_ value: String, _ url: String?) -> Row {
        Row(["http_proxy": value], "http://example.com", url.map { "proxy \($0): from http_proxy" })
    }

    @Test(
        arguments: [
            http("127.0.0.1:8080", "http://127.0.0.1:8080"), http("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            http("cache.corp.example.com:1234", "http://cache.corp.example.com:1234"),
            http("cache.corp.example.com", "http://cache.corp.example.com:80"),
            http("localhost", "http://localhost:80"), http("https://127.0.0.1:8080", "https://127.0.0.1:8080"),
            http("https://cache.corp.example.com", "https://cache.corp.example.com:443"),
            http("socks5://127.0.0.1", "socks5://127.0.0.1:1080"), http(" p.example:1 \n", "http://p.example:1"),
            http("http://p.example:1/a/path?q#f", "http://p.example:1"),
            http("ann:x@p.example:1", "http://p.example:1"),
            http("[::1]:3128", "http://[::1]:3128"), http("socks5h://localhost/run/x", "socks5h://localhost/run/x"),
            // Go keeps unknown schemes, with which no request can be sent.
            http("foo://host", nil), http("http://", nil), http("p.example:99999", nil), http("a b", nil),
            Row(
                ["http_proxy": "http.proxy.tld", "https_proxy": "secure.proxy.tld"], "http://insecure.tld/",
                "proxy http://http.proxy.tld:80: from http_proxy"),
            Row(
                ["http_proxy": "http.proxy.tld", "https_proxy": "secure.proxy.tld"], "https://secure.tld/",
                "proxy http://secure.proxy.tld:80: from https_proxy"),
            Row(
                ["http_proxy": "http.proxy.tld", "https_proxy": "https://secure.proxy.tld"], "https://secure.tld/",
                "proxy https://secure.proxy.tld:443: from https_proxy"),
            Row(["http_proxy": "http.proxy.tld"], "https://secure.tld/", "no proxy: no variable names one"),
            Row(
                ["https_proxy": "p.example", "REQUEST_METHOD": "PUT"], "https://secure.tld/",
                "proxy http://p.example:80: from https_proxy"),
            Row([:], "http://example.com", "no proxy: no variable names one"),
        ])
    func theVariableOfTheSchemeNamesTheProxy(_ row: Row) throws {
        guard let expected = row.decision else {
            let error = #expect(throws: TrellisError.self) { try decision(row) }
            #expect(error?.kind == .invalidRequest && error?.description.contains("http_proxy") == true)
            return
        }
        #expect(try decision(row) == expected)
    }

    @Test(
        arguments: [
            // The name in lower case goes first, and an empty variable counts as unset.
            (["https_proxy": "a:1", "HTTPS_PROXY": "b:1"], "proxy http://a:1: from https_proxy"),
            (["https_proxy": "", "HTTPS_PROXY": "b:1"], "proxy http://b:1: from HTTPS_PROXY"),
            (["https_proxy": " ", "ALL_PROXY": "c:1"], "proxy http://c:1: from ALL_PROXY"),
            (["all_proxy": "a:1", "ALL_PROXY": "b:1"], "proxy http://a:1: from all_proxy"),
            (["HTTPS_PROXY": "a:1", "all_proxy": "b:1"], "proxy http://a:1: from HTTPS_PROXY"),
            (["HTTP_PROXY": "a:1", "http_proxy": "b:1"], "no proxy: no variable names one"),
        ])
    func variablesHaveAnOrder(_ variables: [String: String], _ expected: String) throws {
        #expect(try decision(Row(variables, "https://example.com")) == expected)
    }

    @Test(arguments: [[:], ["REQUEST_METHOD": "GET"]])
    func theUpperCaseVariableForHTTPIsNeverRead(_ others: [String: String]) throws {
        let row = Row(others.merging(["HTTP_PROXY": "http://10.1.2.3:8080"]) { $1 }, "http://example.com")
        #expect(try decision(row) == "no proxy: no variable names one")
    }

    @Test(
        arguments: [
            ("example.com", "http://example.com/", 1), ("a, b example.com", "http://foo.example.com/", 3),
            ("ample.com", "http://example.com/", nil), (".foo.com", "http://example.com/", nil),
            // Go needs a subdomain for an entry with a dot.
            (".example.com", "http://example.com/", 1),
            (".示例.com", "http://www.示例.com", 1), ("xn--fsq092h.com", "http://www.示例.com", 1),
            ("示例.com", "http://www.xn--fsq092h.com", 1), ("example.com:81", "http://example.com:81/a", 1),
            ("example.com:81", "http://example.com/a", nil), ("*", "http://10.0.0.1/", 1),
            ("10.0.0.0/8", "http://10.1.2.3/", 1), ("10.0.0.0/8", "http://0x0a.1/", 1), ("::1/64", "http://[::2]/", 1),
        ] as [(String, String, Int?)])
    func exceptionsAreNamed(_ list: String, _ url: String, _ number: Int?) throws {
        for name in ["no_proxy", "NO_PROXY"] {
            let text = try decision(Row(["http_proxy": "proxy", name: list], url))
            if let number {
                #expect(text.hasPrefix("no proxy: \(name) entry \(number) (") && text.hasSuffix(", so not http_proxy"))
            } else {
                #expect(text == "proxy http://proxy:80: from http_proxy")
            }
        }
        let both = Row(["http_proxy": "proxy", "no_proxy": "x.example", "NO_PROXY": list], url)
        #expect(try decision(both) == "proxy http://proxy:80: from http_proxy")
    }

    @Test(arguments: [
        "localhost", "127.0.0.1", "127.0.0.2", "[::1]", "LOCALHOST:81", "[::ffff:127.0.0.1]", "app.LocalHost",
    ])
    func thisMachineIsReachedDirectly(_ host: String) throws {
        let origin = URLOrigin(try WireURL(parsing: "http://\(host)/"))
        var environment = ProxyEnvironment(["http_proxy": "proxy"])
        #expect(try environment.decision(for: origin).proxies.isEmpty)
        environment.includesLoopback = true
        #expect(try environment.decision(for: origin).proxies.map(\.url) == ["http://proxy:80"])
    }

    @Test(arguments: ["http://[::2]/", "http://localhost.net/", "http://mylocalhost/", "http://128.0.0.1/"])
    func otherHostsAreNotThisMachine(_ url: String) throws {
        #expect(try decision(Row(["http_proxy": "proxy"], url)) == "proxy http://proxy:80: from http_proxy")
    }

    @Test func secretsAreNotShown() throws {
        let environment = ProxyEnvironment(["http_proxy": "bertha:secret@p.example", "https_proxy": "b:secret@:0"])
        let origin = URLOrigin(scheme: "https", host: "h", port: 1)
        let error = #expect(throws: TrellisError.self) { try environment.decision(for: origin) }
        for text in ["\(environment)", "\(ProxyConfiguration.environment(environment))", error?.description ?? ""] {
            #expect(!text.contains("secret") && !text.contains("bertha"))
        }
        #expect("\(environment)" == "http_proxy: http://p.example:80; https_proxy: malformed")
    }
}
