import Testing

@testable import TrellisCore

/// The hosts that a pattern matches.
struct HostPatternTests {
    @Test(
        arguments: [
            ("example.com", "example.com", true), ("example.com", "EXAMPLE.com", true),
            ("Example.COM", "example.com", true), ("example.com.", "example.com", true),
            ("example.com", "www.example.com", false), ("example.com", "myexample.com", false),
            ("example.com", "example.com.evil.test", false), ("localhost", "localhost", true),
            ("*.example.com", "www.example.com", true), ("*.example.com", "WWW.EXAMPLE.COM", true),
            ("*.example.com", "example.com", false), ("*.example.com", "a.b.example.com", false),
            ("*.example.com", "myexample.com", false), ("*.example.com", ".example.com", false),
            ("*.b.example.com", "a.b.example.com", true),
            ("**.example.com", "example.com", true), ("**.example.com", "www.example.com", true),
            ("**.example.com", "a.b.example.com", true), ("**.example.com", "myexample.com", false),
            ("**.example.com", ".example.com", false), ("**.example.com", "com", false),
            ("10.0.0.1", "10.0.0.1", true), ("10.0.0.1", "10.0.0.10", false), ("::1", "[::1]", true),
            ("[::1]", "[0:0:0:0:0:0:0:1]", true), ("[2001:DB8::1]", "2001:db8::1", true), ("::1", "127.0.0.1", false),
            ("*.0.0.com", "10.0.0.com", true), ("a.0x1g", "a.0x1g", true), ("1a", "1a", true), ("0.x", "0.x", true),
            ("bücher.example", "xn--bcher-kva.example", true),
            ("*.bücher.example", "a.xn--bcher-kva.example", true),
            // The kelvin sign is not the letter K, and an accent belongs to no byte before it.
            ("kelvin.example", "\u{212A}elvin.example", false), ("e.example", "e\u{301}.example", false),
            ("*.example", "e\u{301}.example", true),
        ])
    func matches(_ text: String, _ host: String, _ isMatch: Bool) throws {
        #expect(try HostPattern(text).matches(host) == isMatch)
    }

    @Test(arguments: [
        "", ".", "*", "**", "*.", "**.", "***.example.com", "a.*.example.com", "www*.example.com", "a..b", ".a", "a b",
        "example.com:443", "http://example.com", "*.10.0.0.1", "**.0.0.0.1", "*.[::1]", "10.0.0.0/8", "[::1", "a/b",
        "example.com\0", "a\n", "127.1", "127.0.1", "010.0.0.1", "0x7f000001", "0x7f.0.0.1", "0X7F.1", "2130706433",
        "1.2.3.4.5", "256.0.0.1", "127.1.", "0x", "a.1", "a.0x1f", "*.1", "**.0x1",
    ])
    func textsThatAreNoPatterns(_ text: String) throws {
        let error = try #require(throws: TrellisError.self) { try HostPattern(text) }
        #expect(error.kind == .invalidRequest && error.reason == .invalidRequest(.hostPattern(text)))
    }

    @Test(arguments: [
        ["a.b.example.com", "*.b.example.com", "**.b.example.com", "**.example.com", "**.com"],
        ["www.example.com", "**.www.example.com", "*.example.com", "**.example.com"],
    ])
    func theMostSpecificComesFirst(_ texts: [String]) throws {
        let patterns = try texts.map { try HostPattern($0) }
        for (index, pattern) in patterns.enumerated() {
            #expect(pattern.matches(texts[0]))
            for (other, less) in patterns.enumerated() {
                #expect(pattern.isMoreSpecific(than: less) == (index < other), "\(pattern) \(less)")
            }
        }
    }

    @Test func spellingsOfOnePatternAreEqual() throws {
        #expect(try HostPattern("*.Example.com") == HostPattern("*.example.COM."))
        #expect(try HostPattern("[::1]") == HostPattern("0:0::1"))
        #expect(try HostPattern("*.example.com") != HostPattern("**.example.com"))
        #expect(try "\(HostPattern("*.Example.com"))" == "*.Example.com")
    }
}
