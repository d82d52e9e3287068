import FoundationEssentials
import Testing

@testable import TrellisCore

/// The scope of cookies: domains, paths, schemes, prefixes (sections 5.1.3, 5.1.4 and 5.7).
struct CookieScopeTests {
    /// The attributes of a cookie of `http://home.example.org/`, a host, and whether the host is sent the cookie.
    static let domains: [(String, String, Bool)] = [
        ("", "home.example.org", true), ("", "hoMe.eXaMplE.org", true), ("", "subdomain.home.example.org", false),
        ("domain=home.example.org", "home.example.org", true),
        ("domain=home.example.org", "sibling.example.org", false),
        ("domain=.home.example.org", "home.example.org", true),
        ("domain=home.example.org", "subdomain.home.example.org", true),
        ("domain=home.example.org", "ahome.example.org", false),
        ("domain=sibling.example.org", "sibling.example.org", false), ("domain=.example.org", "home.example.org", true),
        ("domain=example.org", "sibling.example.org", true), ("domain=example.org", "example.org", true),
        ("domain=..home.example.org", "home.example.org", false),
        ("domain=home..example.org", "home.example.org", false),
        ("domain=  .home.example.org", "home.example.org", true),
        ("domain=  .  home.example.org", "home.example.org", false),
        ("domain=home.example.org.", "home.example.org", false), ("domain=.org", "home.example.org", false),
        ("domain=org", "home.example.org", false), ("domain=", "home.example.org", true),
        ("domain=.", "home.example.org", true), ("domain", "home.example.org", true),
        ("domain=\"home.example.org\"", "home.example.org", false),
        ("domain=home.eXaMpLe.org", "home.example.org", true),
        ("domain=home.example.org:8888", "home.example.org", false),
        ("domain=subdomain.home.example.org", "subdomain.home.example.org", false),
        ("domain=.example.org; domain=home.example.org", "sibling.example.org", false),
        ("domain=home.example.org; domain=.example.org", "sibling.example.org", true),
        ("domain=home.example.com; domain=home.example.org", "home.example.org", true),
        ("domain=home.example.org; domain=home.example.com", "home.example.org", false),
        ("domain=example.org; domain=", "home.example.org", true),
        ("domain=example.org; domain=", "sibling.example.org", false),
        ("domain=hömе.example.org", "home.example.org", false), ("domain=xample.org", "home.example.org", false),
    ]

    @Test(arguments: domains)
    func domainsAreHeeded(_ attributes: String, _ host: String, _ isSent: Bool) throws {
        let sent = try CookieStore.sent(after: ["foo=bar; \(attributes)"], to: "http://\(host):8888/cookie-parser")
        #expect((sent != nil) == isSent)
    }

    /// The hosts are addresses: an address has no subdomains, and no part of an address is a domain.
    static let addresses: [(String, String, String, Bool)] = [
        ("127.0.0.1", "", "127.0.0.1", true), ("127.0.0.1", "127.0.0.1", "127.0.0.1", true),
        ("127.0.0.1", "0.0.1", "127.0.0.1", false), ("127.0.0.1", "1", "127.0.0.1", false),
        ("127.0.0.1", "", "1.127.0.0.1.example", false), ("[::1]", "", "[::1]", true),
        ("[::1]", "[::1]", "[::1]", true),
        ("[::1]", "1]", "[::1]", false), ("127.0.0.1", "", "0x7f.1", true),
    ]

    @Test(arguments: addresses)
    func nothingIsBelowAnAddress(_ source: String, _ domain: String, _ target: String, _ isSent: Bool) throws {
        let sent = try CookieStore.sent(
            after: ["a=b; Domain=\(domain)"], from: "http://\(source)/", to: "http://\(target)/")
        #expect((sent != nil) == isSent)
    }

    /// The host that sets a cookie, its domain, another host, and whether the other host is sent the cookie.
    static let supercookies: [(String, String, String, Bool)] = [
        ("shop.co.uk", "co.uk", "other.co.uk", false), ("shop.co.uk", "uk", "other.co.uk", false),
        ("shop.co.uk", "shop.co.uk", "www.shop.co.uk", true), ("me.github.io", "github.io", "you.github.io", false),
        // A cookie for a public suffix that the suffix itself sets is kept for that host alone.
        ("github.io", "github.io", "github.io", true), ("github.io", "github.io", "you.github.io", false),
    ]

    @Test(arguments: supercookies)
    func noCookieIsForStrangers(_ host: String, _ domain: String, _ other: String, _ isSent: Bool) throws {
        let sent = try CookieStore.sent(
            after: ["a=b; Domain=\(domain)"], from: "https://\(host)/", to: "https://\(other)/")
        #expect((sent != nil) == isSent)
    }

    @Test func withoutAListADomainWithoutADotIsAPublicSuffix() {
        let suffixes = PublicSuffixes { _ in nil }
        #expect(suffixes.contains("com"))
        #expect(suffixes.contains("localhost"))
        #expect(!suffixes.contains("example.com"))
        #expect(!suffixes.contains("co.uk"))
    }

    static let paths: [(String, String, Bool)] = [
        ("", "/cookie/x", true), ("", "/cookie", true), ("", "/", false), ("", "/cookies", false),
        ("Path", "/cookie", true),
        ("Path=/", "/", true), ("Path=/qux", "/cookie", false), ("Path    =/qux", "/qux", true),
        ("Path=    /qux      ; taz", "/qux/a", true), ("Path=/qux; Path=/", "/", true),
        ("Path=/; Path=/qux", "/", false),
        ("Path=/foo", "/fooqux", false), ("Path=/foo", "/foo/qux", true), ("Path=/foo/", "/foo", false),
        ("Path=/foo/", "/foo//qux", true), ("Path=/FOO", "/foo", false), ("Path=/foo?", "/foo?a", false),
        ("Path=/f%6Fo", "/foo", false), ("Path=\"/foo\"", "/foo", false), ("Path=\"/foo\"", "/cookie/", true),
        ("Path=/dog; Path=", "/cookie", true), ("Path=; Path=/dog", "/cookie", false), ("Path=foo", "/foo", false),
    ]

    /// The cookie is set from /cookie/parser, whose default path is /cookie.
    @Test(arguments: paths)
    func pathsAreHeeded(_ attributes: String, _ path: String, _ isSent: Bool) throws {
        let origin = "http://home.example.org"
        let sent = try CookieStore.sent(
            after: ["foo=bar; \(attributes)"], from: "\(origin)/cookie/parser?/a/b", to: origin + path)
        #expect((sent != nil) == isSent)
    }

    @Test(arguments: [
        ("", "/"), ("/", "/"), ("/a", "/"), ("/a/", "/a"), ("/a/b", "/a"), ("/a/b/", "/a/b"), ("//", "/"), ("x/y", "/"),
    ])
    func standardPath(_ path: String, _ expected: String) { #expect(CookiePath.standard(for: path) == expected) }

    static let schemes: [(String, String, String, Bool)] = [
        ("Secure", "https", "https", true), ("Secure", "https", "http", false), ("Secure", "http", "https", false),
        ("", "http", "https", true), ("", "https", "http", true), ("SameSite=None", "https", "https", false),
        ("SameSite=None; Secure", "https", "https", true), ("SameSite=Strict", "https", "https", true),
        ("SameSite=Lax; HttpOnly", "http", "http", true),
    ]

    @Test(arguments: schemes)
    func schemesAreHeeded(_ attributes: String, _ source: String, _ target: String, _ isSent: Bool) throws {
        let sent = try CookieStore.sent(
            after: ["a=b; \(attributes)"], from: "\(source)://example.org/", to: "\(target)://example.org/")
        #expect((sent != nil) == isSent)
    }

    static let prefixed: [(String, Bool)] = [
        ("__Secure-a=b; Secure", true), ("__Secure-a=b", false), ("__sEcUrE-a=b", false),
        ("__Secure-a=b; Secure; Domain=example.org", true), ("__Host-a=b; Secure; Path=/", true),
        ("__HOST-a=b; Secure; Path=/", true), ("__Host-a=b; Path=/", false), ("__Host-a=b; Secure", false),
        ("__Host-a=b; Secure; Path=/x", false), ("__Host-a=b; Secure; Path=/; Domain=example.org", false),
        ("__hOsT-a=b; Secure; Path=/; Domain=example.org", false), ("__Host-a=b; Secure; Path=/; Domain=", true),
        ("__Hos-a=b", true), ("a__Host-=b", true), ("__Host=b", true),
        // Without a name, the value could be taken for the name and the value.
        ("__Secure-a", false), ("=__Secure-a=b", false), ("=__HOST-a=b; Secure; Path=/", false), ("=__a=b", true),
    ]

    @Test(arguments: prefixed)
    func prefixesAreHeeded(_ field: String, _ isTaken: Bool) throws {
        #expect(
            (try CookieStore.sent(after: [field], from: "https://example.org/x/y", to: "https://example.org/x/y") != nil)
                == isTaken)
    }

    static let matches: [(String, String, Bool)] = [
        ("a.b.c", "b.c", true), ("b.c", "b.c", true), ("b.c", "a.b.c", false), ("xb.c", "b.c", false),
        ("b.c", "", false),
        ("1.2.3.4", "3.4", false), ("1.2.3.4", "1.2.3.4", true), ("a.3", "3", false), ("[::1]", "1]", false),
    ]

    @Test(arguments: matches)
    func domainMatch(_ host: String, _ domain: String, _ isMatch: Bool) {
        #expect(CookieDomain.matches(host, domain) == isMatch)
    }

    static let urls: [(String, String, String, Bool)] = [
        ("HTTPS://user:pw@EXAMPLE.com:8443/A/b?c#d", "example.com", "/A/b", true),
        ("http://a.test", "a.test", "/", false),
        ("http://a.test?q", "a.test", "/", false), ("http://[::1]:80/x", "[::1]", "/x", false),
        ("http://bücher.example/ü", "xn--bcher-kva.example", "/%C3%BC", false),
    ]

    @Test(arguments: urls)
    func partsOfURLs(_ text: String, _ host: String, _ path: String, _ isSecure: Bool) throws {
        let url = try CookieStore.url(text)
        #expect((url.host, url.path, url.isSecure) == (host, path, isSecure))
    }

    @Test(arguments: ["", "/a", "ftp://a.test/", "http://", "http://a.test../", "file:///a"])
    func othersAreNone(_ text: String) async {
        #expect(CookieURL(text) == nil)
        let jar = CookieJar()
        await jar.store(["a=b"], from: text)
        #expect(await jar.cookies(for: text).isEmpty)
    }
}
