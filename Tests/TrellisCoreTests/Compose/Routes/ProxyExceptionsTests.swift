import Testing
import TrellisTesting

@testable import TrellisCore

/// The hosts that a list of exceptions matches. The rows are those of curl's and Go's own tests, with the differences named.
struct ProxyExceptionsTests {
    struct Row: CustomStringConvertible, Sendable {
        let host: String
        let list: String
        let isMatch: Bool
        var description: String { "\(host) in \(list)" }
        init(_ host: String, _ list: String, _ isMatch: Bool) {
            (self.host, self.list, self.isMatch) = (host, list, isMatch)
        }
    }

    private static let labels = String(repeating: "127.0.0.1.", count: 12)

    @Test(
        arguments: [
            // New versions of curl say no, 7.88.1 does not: there, an entry that no comma follows is the last one.
            Row("www.example.com", "localhost .example.com .example.de", true),
            Row("www.example.com", "localhost,.example.com,.example.de", true),
            Row("www.example.com.", "localhost,.example.com,.example.de", true),
            Row("example.com", "localhost,.example.com,.example.de", true),
            Row("example.com.", "localhost,.example.com,.example.de", true),
            Row("www.example.com", "localhost,.example.com.,.example.de", true),
            Row("www.example.com", "localhost,www.example.com.,.example.de", true),
            Row("example.com", "localhost,example.com,.example.de", true),
            Row("example.com.", "localhost,example.com,.example.de", true),
            Row("nexample.com", "localhost,example.com,.example.de", false),
            // Versions of curl before 8 say no: there, subdomains need the dot in front.
            Row("www.example.com", "localhost,example.com,.example.de", true),
            Row("127.0.0.1", "127.0.0.1,localhost", true), Row("127.0.0.1", "127.0.0.1,localhost,", true),
            Row("127.0.0.1", "127.0.0.1/8,localhost,", true), Row("127.0.0.1", "127.0.0.1/28,localhost,", true),
            Row("127.0.0.1", "127.0.0.1/31,localhost,", true), Row("127.0.0.1", "localhost,127.0.0.1", true),
            Row("127.0.0.1", "localhost,\(labels)127.0.0.", false),
            Row("127.0.0.1", "localhost,\(labels)127.0.0", false),
            Row("localhost", "localhost,127.0.0.1", true), Row("localhost", "127.0.0.1,localhost", true),
            Row("foobar", "barfoo", false), Row("foobar", "foobar", true), Row("192.168.0.1", "foobar", false),
            Row("192.168.0.1", "192.168.0.0/16", true), Row("192.168.0.1", "192.168.0.0/24", true),
            Row("192.168.0.1", "192.168.0.0/32", false), Row("192.168.0.1", "192.168.0.0", false),
            Row("192.168.1.1", "192.168.0.0/24", false), Row("192.168.1.1", "foo, bar, 192.168.0.0/24", false),
            Row("192.168.1.1", "foo, bar, 192.168.0.0/16", true), Row("[::1]", "foo, bar, 192.168.0.0/16", false),
            Row("[::1]", "foo, bar, ::1/64", true), Row("bar", "foo, bar, ::1/64", true),
            Row("BAr", "foo, bar, ::1/64", true), Row("BAr", "foo,,,,,              bar, ::1/64", true),
            Row("www.example.com", "foo, .example.com", true),
            Row("www.example.com", "www2.example.com, .example.net", false),
            Row("example.com", ".example.com, .example.net", true),
            Row("nonexample.com", ".example.com, .example.net", false),
        ])
    func curl(_ row: Row) { expect(row) }

    /// The number of bits is digits alone. A blank after it ends the entry.
    @Test(
        arguments: [
            ("16", true), ("16a", false), ("16 ", true), ("a16", false), (" 16", false), ("16,", true), ("32", false),
        ])
    func curlsNumbersOfBits(_ digits: String, _ isMatch: Bool) {
        expect(Row("192.168.0.1", "192.168.0.0/\(digits)", isMatch))
        expect(Row("192.168.0.1", "foo, 192.168.0.0/\(digits)", isMatch))
    }

    @Test(
        arguments: [
            ("32", true), ("33", false), ("31", true), ("32a", false), ("032", true), ("4294967296", false),
            ("18446744073709551648", false),
        ])
    func curlsNumbersOfBitsOfAnAddress(_ digits: String, _ isMatch: Bool) {
        expect(Row("192.168.0.1", "192.168.0.1/\(digits)", isMatch))
    }

    @Test(arguments: [
        ("64", true), ("96", true), ("122", true), ("123", true), ("124", true), ("125", true), ("126", true),
        ("127", true), ("128", true), ("127 ", true), ("129", false), ("a127", false), ("127a", false),
        (" 127", false), ("-127", false), ("+127", false),
    ])
    func curlsNumbersOfBitsOfIPv6(_ digits: String, _ isMatch: Bool) {
        for host in ["::1", "[::1]"] { expect(Row(host, "::1/\(digits)", isMatch)) }
    }

    /// The first 64 bits are whole bytes, and the others are parts of one.
    @Test(arguments: 65...72)
    func curlsPartsOfBytes(_ bits: Int) {
        expect(Row("2001:db8:8000::1", "2001:db8::/\(bits)", false))
        expect(Row("2001:db8::1", "2001:db8::/\(bits)", true))
        // The last bit of the network counts, and the one after it does not.
        expect(Row("2001:db8:0:0:\(String(1 << (80 - bits), radix: 16))::", "2001:db8::/\(bits)", false))
        expect(Row("2001:db8:0:0:\(String(1 << (79 - bits), radix: 16))::", "2001:db8::/\(bits)", true))
    }

    @Test(
        arguments: [
            ("192.160.0.1", "192.160.0.1", 33, false), ("192.160.0.1", "192.160.0.1", 32, true),
            ("192.160.0.1", "192.160.0.1", 0, true), ("192.160.0.1", "192.160.0.1", 24, true),
            ("192.160.0.1", "192.160.0.1", 26, true), ("192.160.0.1", "192.160.0.1", 20, true),
            ("192.160.0.1", "192.160.0.1", 18, true), ("192.160.0.1", "192.160.0.1", 12, true),
            ("192.160.0.1", "192.160.0.1", 8, true), ("192.160.0.1", "10.0.0.1", 8, false),
            ("192.160.0.1", "10.0.0.1", 32, false), ("192.160.0.1", "10.0.0.1", 0, false),
            ("::1", "::1", 0, true), ("::1", "::1", 128, true), ("::1", "0:0::1", 128, true),
            ("::1", "0:0::1", 129, false), ("fe80::ab47:4396:55c9:8474", "fe80::ab47:4396:55c9:8474", 64, true),
            ("fe80::1", "fec0::", 9, true), ("fe80::1", "ff00::", 9, false), ("10.128.0.1", "10.0.0.0", 9, false),
        ])
    func curlsNetworks(_ host: String, _ network: String, _ bits: Int, _ isMatch: Bool) {
        expect(Row(host, "\(network)/\(bits)", isMatch))
    }

    private static let goList = """
        foobar.com, .barbaz.net, *.wildcard.io, 192.168.1.1, 192.168.1.2:81, 192.168.1.3:80, 10.0.0.0/30, \
        2001:db8::52:0:1, [2001:db8::52:0:2]:443, [2001:db8::52:0:3]:80, 2002:db8:a::45/64
        """

    @Test(
        arguments: [
            ("[::2]", false), ("192.168.1.1", true), ("192.168.1.2", false), ("192.168.1.3", true),
            ("192.168.1.4", false), ("10.0.0.2", true), ("[2001:db8::52:0:1]", true), ("[2001:db8::52:0:2]", false),
            ("[2001:db8::52:0:3]", true), ("[2002:db8:a::123]", true), ("[fe80::424b:c8be:1643:a1b6]", false),
            // Go says no: there a dot in front means the subdomains only, for which curl and this list have `*.`.
            ("barbaz.net", true),
            ("www.barbaz.net", true), ("foobar.com", true), ("www.foobar.com", true), ("foofoobar.com", false),
            ("baz.com", false), ("localhost.net", false), ("local.localhost", false), ("barbarbaz.net", false),
            ("wildcard.io", false), ("nested.wildcard.io", true), ("awildcard.io", false),
        ])
    func go(_ host: String, _ isMatch: Bool) {
        expect(Row(host, Self.goList, isMatch))
        expect(Row(host, "*", true))
    }

    @Test(
        arguments: [
            Row("www.示例.com", ".示例.com", true), Row("www.示例.com", "xn--fsq092h.com", true),
            Row("www.xn--fsq092h.com", "示例.com", true), Row("EXAMPLE.com", "eXample.COM", true),
            Row("example.com", "ample.com", false), Row("[1000::%25.example.com]", "example.com", false),
            Row("[fe80::1%25eth0]", "fe80::/10", true), Row("[::ffff:10.0.0.1]", "10.0.0.0/8", true),
            Row("10.0.0.1", "::ffff:10.0.0.1", true), Row("[0:0:0:0:0:0:0:1]", "[::1]", true),
            Row("a.example", "b.example\ta.example", true), Row("a.example", "b.example\na.example", true),
            Row("a.example", "b.example,*", true), Row("10.0.0.1", "b.example,*", true),
        ])
    func spellings(_ row: Row) { expect(row) }

    @Test(
        arguments: [
            "", ",", " , ,", ".", "..", "*.", ".*", "*.*", "a*", ":1", ":", "example.com:", "example.com:0",
            "example.com:80a", "example.com:65616", "example.com:+80", "[example.com", "example.com]:80", "[]", "[]:80",
            "example.com/8", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8/8", "10.0.0/8", "10.0.0.0/08x", "::/129",
            "http://example.com", "http://example.com/", "e\u{301}xample.com", "exam\u{0}ple.com",
            "\u{202e}moc.elpmaxe",
        ])
    func malformedEntriesMatchNothing(_ list: String) {
        for host in ["example.com", "10.0.0.1", "[::1]", ""] { expect(Row(host, list, false)) }
    }

    /// Random text neither matches a host by chance nor hides an entry beside it.
    @Test func garbageChangesNothing() {
        var generator = SeededGenerator(seed: 13)
        let pieces = [
            "a", "Z", "0", "9", "255", ".", "*", ":", "/", "[", "]", "%", "-", "+", "\u{e9}", "\u{301}", "\u{0}",
            "\u{7f}", "@", "::", "x--",
        ]
        for _ in 0..<5000 {
            let count = Int.random(in: 1...12, using: &generator)
            let garbage = (0..<count).compactMap { _ in pieces.randomElement(using: &generator) }.joined()
            let list = ProxyExceptions("\(garbage), kept.example:81, \(garbage)")
            #expect(list.contains(host: "kept.example", port: 81), "\(garbage)")
            guard garbage != "*" else { continue }
            for host in ["host.example", "192.0.2.77", "[2001:db8::77]"] {
                #expect(!list.contains(host: host, port: 80), "\(garbage) \(host)")
            }
        }
    }

    @Test func theFirstMatchIsNamed() throws {
        let list: ProxyExceptions = "a.example, b.example:81 , .b.example"
        let match = try #require(list.match(host: "b.example", port: 80))
        #expect(match.number == 3 && match.entry == ".b.example")
        #expect(list.match(host: "b.example", port: 81)?.number == 2)
        #expect("\(list)" == "a.example,b.example:81,.b.example")
    }

    private func expect(_ row: Row) {
        #expect(ProxyExceptions(row.list).contains(host: row.host, port: 80) == row.isMatch, "\(row)")
    }
}
