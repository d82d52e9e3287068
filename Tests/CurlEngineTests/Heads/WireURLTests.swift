import CCurl
import Testing
import TrellisTesting

@testable import CurlEngine

/// URLs are absolute, normalised and encoded before they are requested.
struct WireURLTests {
    @Test(arguments: [
        ("http://example.com", "http://example.com/"),
        ("http://example.com/", "http://example.com/"),
        ("HTTP://EXAMPLE.com/A", "http://EXAMPLE.com/A"),
        ("http://example.com?q=1", "http://example.com/?q=1"),
        ("http://example.com/a b", "http://example.com/a%20b"),
        ("http://example.com/?q=a b", "http://example.com/?q=a%20b"),
        ("http://example.com/grün", "http://example.com/gr%C3%BCn"),
        ("http://example.com/?q=日本", "http://example.com/?q=%E6%97%A5%E6%9C%AC"),
        ("http://example.com/a%20b%2Fc", "http://example.com/a%20b%2Fc"),
        ("http://example.com/a/../b/./c", "http://example.com/b/c"),
        ("http://example.com/../a", "http://example.com/a"),
        ("http://example.com/a#part", "http://example.com/a"),
        ("http://example.com/?a#part?b", "http://example.com/?a"),
        ("http://ann:secret@example.com/a", "http://example.com/a"),
        ("http://example.com:80/", "http://example.com/"),
        ("https://example.com:443/", "https://example.com/"),
        ("http://example.com:8080/", "http://example.com:8080/"),
        ("http://[::1]:8080/", "http://[::1]:8080/"),
        ("http://example.com/a%", "http://example.com/a%"),
        ("http://example.com/a+b", "http://example.com/a+b"),
        ("http://example.com//a//b", "http://example.com//a//b"),
        ("http://example.com/?", "http://example.com/?"), ("http://example.com?#a?b", "http://example.com/?"),
        ("http://example.com/a b?", "http://example.com/a%20b?"), ("http://example.com/??", "http://example.com/??"),
    ])
    func isAbsoluteNormalisedAndEncoded(_ text: String, _ url: String) throws {
        let parsed = try WireURL(parsing: text)
        #expect(parsed.text.lowercased() == url.lowercased())
        #expect(parsed.canonicalText.lowercased() == url.lowercased())
    }

    /// What is percent-encoded already has one form on every libcurl: upper-case digits, and dots that are dots (RFC 3986, section 6.2.2).
    @Test(arguments: [
        ("/a%2fb?c=%3d%ab", "/a%2Fb?c=%3D%AB"), ("/a/%2e%2E/b", "/b"), ("/a/.%2e/b/%2e/c", "/b/c"), ("/a/%2e%2e", "/"),
        ("/a%2e/b", "/a%2E/b"), ("/%2e%2e%2e/b", "/%2E%2E%2E/b"), ("/%2eb/c", "/%2Eb/c"),
        ("/a?b=%2e%2e/%2e", "/a?b=%2E%2E/%2E"), ("/a%2?b%ag=%", "/a%2?b%ag=%"), ("/a%%2f%25%32%66", "/a%%2F%25%32%66"),
    ])
    func percentEncodingHasOneForm(_ target: String, _ sent: String) throws {
        let parsed = try WireURL(parsing: "http://example.com" + target)
        #expect(parsed.text == "http://example.com" + sent)
        #expect(parsed.canonicalText == parsed.text)
        #expect(unsafe curlText(parsed.handle) == parsed.text)
        let unchanged = try WireURL(parsing: "http://example.com" + target, unchanged: true)
        #expect(unchanged.target == target)
    }

    /// The path and query of an unchanged URL are sent byte for byte. Each row has a URL, the complete URL and the target.
    @Test(arguments: [
        ("http://example.com", "http://example.com/", "*"),
        ("http://example.com?q=1", "http://example.com/?q=1", "/?q=1"),
        ("http://example.com/?", "http://example.com/?", "/?"),
        ("http://EXAMPLE.com:80/a/../b/./%2e%2E//", "http://EXAMPLE.com/a/../b/./%2e%2E//", "/a/../b/./%2e%2E//"),
        ("http://ann:x@example.com:81/\"<>{}|\\^`?\"<>", "http://example.com:81/\"<>{}|\\^`?\"<>", "/\"<>{}|\\^`?\"<>"),
        ("http://[::1]/@:a", "http://[::1]/@:a", "/@:a"),
    ])
    func isSentUnchanged(_ text: String, _ url: String, _ target: String) throws {
        let parsed = try WireURL(parsing: text, unchanged: true)
        #expect(parsed.text.lowercased() == url.lowercased())
        #expect(parsed.target == target)
        #expect(parsed.host.lowercased() == (url.hasPrefix("http://[") ? "[::1]" : "example.com"))
    }

    @Test(arguments: [
        "http://example.com/a b", "http://example.com/ü", "http://example.com/a#b", "http://example.com#b", "/a", "",
        "ftp://a/",
    ])
    func cannotBeSentUnchanged(_ text: String) {
        #expect(throws: WireURL.ParseFailure.self) { try WireURL(parsing: text, unchanged: true) }
    }

    @Test func theCacheTellsUnchangedURLsFromOthers() throws {
        let cache = WireURLCache(), text = "http://example.com/a/../b"
        for _ in 1...2 {
            #expect(try cache.url(parsing: text).text == "http://example.com/b")
            #expect(try cache.url(parsing: text, unchanged: true).text == text)
        }
    }

    @Test(
        arguments: [
            ("http://example.com/a", "http", "example.com", 80, "http://example.com"),
            ("https://example.com/a", "https", "example.com", 443, "https://example.com"),
            ("https://example.com:80/a", "https", "example.com", 80, "https://example.com:80"),
            ("http://example.com:8080?q", "http", "example.com", 8080, "http://example.com:8080"),
            ("http://[2001:db8::1]/a", "http", "[2001:db8::1]", 80, "http://[2001:db8::1]"),
            ("http://[2001:DB8:0::1]:81/a", "http", "[2001:db8::1]", 81, "http://[2001:db8::1]:81"),
            ("http://127.0.0.1/", "http", "127.0.0.1", 80, "http://127.0.0.1"),
            ("http://user@example.com/a@b", "http", "example.com", 80, "http://example.com"),
        ] as [(String, String, String, UInt16, String)])
    func hasParts(_ text: String, _ scheme: String, _ host: String, _ port: UInt16, _ origin: String) throws {
        let url = try WireURL(parsing: text)
        #expect(url.scheme == scheme)
        #expect(url.host.lowercased() == host)
        #expect(url.port == port)
        #expect(url.origin.lowercased() == origin)
    }

    @Test func theHostsCaseMakesNoOtherOrigin() throws {
        #expect(try WireURL(parsing: "http://EXAMPLE.com/").origin == WireURL(parsing: "http://example.com/").origin)
    }

    @Test(
        arguments: [
            ("http://example.com/", nil, nil), ("http://ann@example.com/", "ann", nil),
            ("http://ann:secret@example.com/", "ann", "secret"), ("http://a%40b:c%3Ad@example.com/", "a@b", "c:d"),
            ("http://ann:@example.com/", "ann", ""),
        ] as [(String, String?, String?)])
    func userInformationIsDecoded(_ text: String, _ user: String?, _ password: String?) throws {
        let url = try WireURL(parsing: text)
        #expect(url.user == user)
        #expect((url.password ?? "") == (password ?? ""))
    }

    // MARK: Refused URLs

    @Test func nothingIsEmpty() { #expect(throws: WireURL.ParseFailure.empty) { try WireURL(parsing: "") } }

    /// A name with a dot at its end is the same host for rules about hosts, and another origin.
    @Test(arguments: [
        ("http://Example.com.:81/a", "Example.com.", "Example.com", "http://example.com.:81"),
        ("https://a./", "a.", "a", "https://a."), ("https://a.b", "a.b", "a.b", "https://a.b"),
        ("http://127.0.0.1.a./", "127.0.0.1.a.", "127.0.0.1.a", "http://127.0.0.1.a."),
    ])
    func aDotMayEndTheHost(_ text: String, _ host: String, _ name: String, _ origin: String) throws {
        let url = try WireURL(parsing: text)
        #expect(url.host == host && url.name == name && url.origin == origin && !url.isAddress)
    }

    @Test(arguments: [
        "/a", "a", "example.com", "example.com/a", "//example.com/", "?q", "#f", "a/b:c",
        "example.com/x?token=secret&next=https://y", "/a?b=ftp://c", "#a://b", "?a=http://b",
    ])
    func whatHasNoSchemeIsRelative(_ text: String) {
        #expect(throws: WireURL.ParseFailure.relative) { try WireURL(parsing: text) }
    }

    @Test(arguments: [
        ("ftp://example.com/", "ftp"), ("file:///etc/passwd", "file"), ("ws://example.com/", "ws"),
        ("gopher://example.com/", "gopher"),
    ])
    func onlyTwoSchemesAreRequested(_ text: String, _ scheme: String) {
        #expect(throws: WireURL.ParseFailure.unsupportedScheme(scheme)) { try WireURL(parsing: text) }
    }

    @Test(arguments: [
        "http://", "http:///a", "http://?q", "http://a b/", "http://a\\b/", "http://[::1/", "http://[::zz]/",
        "http://a:b/",
        "http://a:99999/", "http://a:-1/", "http://a:0x50/", "http://a..../", "http://example.com../", "http://./",
        "http://127.0.0.1./", "http://ann@127.0.0.1.:80/", "http://127.1./?q", "http://1./", "http://0x7f.0.0.1.",
        "http://[::1]./",
        "http://a/\r\nX: y", "http://a/\n", "http://a/\t", "http://a/\0b", "http://a/\u{7f}", "\u{1}http://a/",
        "http://a%00b/",
        "http://a^b/", "http://a<b>/", "http://[::1]x/", "http://:80/", "http://user@/", "http://%/",
    ])
    func whatIsNoURLIsMalformed(_ text: String) {
        #expect(throws: WireURL.ParseFailure.self) { try WireURL(parsing: text) }
    }

    /// A part of a URL that may be a user's name or password is not treated as the name of a scheme.
    @Test(arguments: [
        "ann:secret@example.com/", "ann:secret@example.com/?next=http://b", "ann:@b", "mailto:ann@example.com",
    ])
    func aUsersNameIsNoScheme(_ text: String) {
        #expect(throws: WireURL.ParseFailure.malformed("it begins with neither http:// nor https://")) {
            try WireURL(parsing: text)
        }
    }

    @Test func aLongURLIsAURL() throws {
        let text = "http://example.com/" + String(repeating: "a", count: 100_000)
        #expect(try WireURL(parsing: text).text == text)
    }

    @Test func theCacheGivesTheSameURLAndKeepsNoPasswords() throws {
        let cache = WireURLCache()
        #expect(try cache.url(parsing: "http://example.com/a") === cache.url(parsing: "http://example.com/a"))
        let first = try cache.url(parsing: "http://ann:secret@example.com/")
        #expect(try cache.url(parsing: "http://ann:secret@example.com/") !== first)
        for number in 0..<1000 {
            #expect(try cache.url(parsing: "http://example.com/\(number)").text == "http://example.com/\(number)")
        }
    }

    /// The parts of a URL, and the text that libcurl sends.
    private func parts(_ url: WireURL) -> [String] {
        let sent = unsafe curlText(url.handle)
        return [
            url.text, url.canonicalText, url.scheme, url.host, url.name, "\(url.port)", url.origin, "\(url.isAddress)",
            sent,
        ]
    }

    private func curlText(_ handle: OpaquePointer?) -> String {
        var text: UnsafeMutablePointer<CChar>?
        guard let handle = unsafe handle, unsafe curl_url_get(handle, CURLUPART_URL, &text, 0) == CURLUE_OK,
            let text = unsafe text
        else { return "none" }
        defer { unsafe curl_free(text) }
        return unsafe String(cString: text)
    }

    /// A URL that begins as an earlier one is made from it, and is the same as if it were parsed.
    @Test(arguments: [
        "http://example.com", "https://example.com:8443", "http://[::1]:80", "HTTP://Example.com", "http://10.1",
        "https://example.com.",
    ])
    func theCacheGivesWhatTheParserGives(_ root: String) throws {
        let cache = WireURLCache()
        _ = try cache.url(parsing: root + "/first?query")
        var generator = SeededGenerator(seed: 7)
        let letters = [
            "a", "B", "7", "/", "/", "..", ".", "?", "%41", "%", "+", "&", "=", ":", "@", " ", "\\", "é", "|", "'", ";",
            "~",
        ]
        for target in ["/", "/a/../b", "/./a", "/a?", "/?", "/?a/../b", "//a", "/a.b", "/a#b", "?a", "", "/a;b=c,d"] {
            try compare(root + target)
        }
        for _ in 0..<2_000 {
            let count = Int.random(in: 0..<8, using: &generator)
            try compare(root + "/" + (0..<count).map { _ in letters.randomElement(using: &generator) ?? "" }.joined())
        }
        func compare(_ text: String) throws {
            let parsed = try? WireURL(parsing: text)
            let made = try? cache.url(parsing: text)
            #expect(made.map(parts) == parsed.map(parts), "\(text)")
        }
    }
}
