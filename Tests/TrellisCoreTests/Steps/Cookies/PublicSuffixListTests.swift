import CurlEngine
import Testing

@testable import TrellisCore

/// The public suffix list of libcurl, where libcurl has one.
@Suite(.enabled(if: PublicSuffixList.isAvailable, "libcurl has loaded no libpsl"))
struct PublicSuffixListTests {
    @Test(arguments: ["com", "co.uk", "github.io", "local-only-name", "xn--p1ai", "kawasaki.jp", "x.kawasaki.jp"])
    func contains(_ domain: String) { #expect(PublicSuffixList.contains(domain) == true) }

    @Test(arguments: ["example.com", "example.co.uk", "me.github.io", "city.kawasaki.jp", "a.b"])
    func doesNotContain(_ domain: String) { #expect(PublicSuffixList.contains(domain) == false) }

    @Test func jarsAskIt() async {
        let jar = CookieJar()
        await jar.store(["super=1; Domain=co.uk", "own=1; Domain=shop.co.uk"], from: "http://www.shop.co.uk/")
        #expect(await jar.field(for: "http://www.shop.co.uk/") == "own=1")
        await jar.store(["local=1; Domain=localhost"], from: "http://localhost/")
        #expect(await jar.field(for: "http://localhost/") == "local=1")
        #expect(await jar.field(for: "http://a.localhost/") == nil)
    }
}
