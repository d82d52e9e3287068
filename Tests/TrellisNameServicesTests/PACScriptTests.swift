import CurlEngine
import Foundation
import HTTPTypes
import Testing

@testable import TrellisCore
@testable import TrellisNameServices

/// A PAC script as a value, and what it learns about a request.
struct PACScriptTests {
    /// The URLs of requests, and the URLs and hosts for the script, without and with paths.
    static let questions: [(String, String, String, String)] = [
        (
            "http://www.example.com/a?b=c#d", "http://www.example.com/", "http://www.example.com/a?b=c",
            "www.example.com"
        ),
        ("http://ada:secret@a.example:81/x", "http://a.example:81/", "http://a.example:81/x", "a.example"),
        ("https://A.example/token?key=1", "https://a.example/", "https://a.example/", "a.example"),
        ("https://ada:secret@a.example:8443/x#y", "https://a.example:8443/", "https://a.example:8443/", "a.example"),
        ("http://[::1]:80/a", "http://[::1]/", "http://[::1]/a", "::1"),
        ("http://a.example/a'b\\c", "http://a.example/", "http://a.example/a%27b%5Cc", "a.example"),
    ]

    @Test(arguments: questions)
    func theScriptLearnsTheOriginAlone(_ url: String, _ origin: String, _ whole: String, _ host: String) throws {
        let wire = try WireURL(parsing: url)
        var script = PACScript.text("")
        #expect(script.question(for: wire) == .init(url: origin, host: host))
        script.includesPaths = true
        script.ownAddress = "10.0.0.1"
        #expect(script.question(for: wire) == .init(url: whole, host: host, ownAddress: "10.0.0.1"))
    }

    @Test(arguments: ["", "a/b", "file:///etc/passwd", "pac+http://a/", "http://", "http://a b/"])
    func aURLThatCannotBeFetched(_ url: String) {
        #expect(throws: TrellisError.self) { try PACScript.url(url) }
    }

    @Test func equalScriptsAreOne() throws {
        #expect(PACScript.text("a") == .text("a") && PACScript.text("a") != .text("b"))
        // Canonically equivalent texts are different scripts.
        #expect(PACScript.text("'\u{e9}'") != .text("'e\u{301}'"))
        #expect(PACScript.file("/a") != .text("/a"))
        #expect(PACScript.file("/\u{e9}") != .file("/e\u{301}"))
        #expect(try PACScript.url("http://a/") == .url(URL(string: "http://a/")!))
        var other = PACScript.text("a")
        other.includesPaths = true
        #expect(other != .text("a"))
    }

    @Test func noDescriptionHasASecret() throws {
        let script = try PACScript.url("http://ada:secret@wpad.example/p?token=hidden")
        let rule = ProxyConfiguration.automatic(script, credentials: [try Proxy("http://bob:third@proxy.example:1")])
        for text in ["\(script)", String(reflecting: script), "\(rule)", String(reflecting: rule)] {
            #expect(text.contains("wpad.example"))
            for secret in ["ada", "secret", "hidden", "bob", "third"] { #expect(!text.contains(secret)) }
        }
        #expect("\(PACScript.text("// the password is x"))" == "PACScript(20 bytes)")
    }

    @Test(
        arguments: [
            (nil, 3600), ("max-age=600", 600), ("public, MAX-AGE = \"600\"", 600), ("max-age=1", 60), ("max-age=0", 60),
            ("max-age=99999999999999999999", 86_400), ("max-age=-1", 60), ("max-age=", 60),
            ("no-cache, max-age=600", 60),
            ("no-store", 60), ("s-maxage=5", 3600),
        ] as [(String?, Int)])
    func theLifetimeOfAScript(_ field: String?, _ seconds: Int) {
        var headers = HTTPFields()
        headers[.cacheControl] = field
        #expect(PACScript.lifetime(headers) == .seconds(seconds))
    }
}
