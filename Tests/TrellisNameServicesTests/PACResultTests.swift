import CurlEngine
import Testing

@testable import TrellisCore
@testable import TrellisNameServices

/// The list of proxies that a PAC script has returned.
struct PACResultTests {
    /// The texts, the URLs of the proxies, and the number of entries that are left out.
    static let lists: [(String, [String], Int)] = [
        ("", ["direct://"], 0), (" ; ;", ["direct://"], 0), ("DIRECT", ["direct://"], 0),
        ("direct ;", ["direct://"], 0),
        ("PROXY a.example:3128", ["http://a.example:3128"], 0), ("PROXY a.example", ["http://a.example:80"], 0),
        ("proxy\ta:1;DIRECT", ["http://a:1", "direct://"], 0), ("HTTP a:1", ["http://a:1"], 0),
        ("HTTPS a.example", ["https://a.example:443"], 0), ("HTTPS a:8443", ["https://a:8443"], 0),
        ("SOCKS a", ["socks4://a:1080"], 0), ("SOCKS4 a:1", ["socks4://a:1"], 0),
        ("SOCKS5 a:1", ["socks5h://a:1"], 0), ("PROXY [::1]:3128", ["http://[::1]:3128"], 0),
        ("PROXY a:1; SOCKS5 b:2; DIRECT", ["http://a:1", "socks5h://b:2", "direct://"], 0),
        ("QUIC a:1; PROXY b:2", ["http://b:2"], 1), ("PROXY a:99999; PROXY b:2", ["http://b:2"], 1),
        ("PROXY; DIRECT", ["direct://"], 1), ("DIRECT now; PROXY a:1", ["http://a:1"], 1),
        ("PROXY http://a:1; PROXY a:1/b; PROXY a:1?b; PROXY a:1#b; PROXY u:p@a:1; PROXY a b; DIRECT", ["direct://"], 6),
        ("PROXY a:1\u{e9}; DIRECT", ["direct://"], 1),
    ]

    @Test(arguments: lists)
    func aList(_ text: String, _ urls: [String], _ unusable: Int) throws {
        let result = try PACResult(parsing: text)
        #expect(result.proxies.map(\.url) == urls && result.unusableCount == unusable)
    }

    @Test(arguments: [
        "null", "PROXY", "PROXY ;", "PROXY a:0x1", "QUIC a:1", "a:1", "DIRECT direct", "DIRECT,PROXY a:1",
    ])
    func aListWithoutAProxyIsNoDirectConnection(_ text: String) {
        #expect(throws: TrellisError.self) { try PACResult(parsing: text) }
    }

    @Test func aLongListEnds() throws {
        let result = try PACResult(parsing: (0..<10_000).map { "PROXY p\($0):1" }.joined(separator: ";"))
        #expect(result.proxies.count == 32)
    }

    @Test func aProxyWithCredentialsIsUsedInPlaceOfTheSameOne() throws {
        let ours = try Proxy("http://ada:secret@a.example:3128", authentication: .digest)
        let socks = try Proxy("socks5://bob:secret@b.example")
        let text =
            "PROXY A.example:3128; HTTPS a.example:3128; PROXY a.example; SOCKS b.example; PROXY b.example:1080; DIRECT"
        let proxies = try PACResult(parsing: text, credentials: [ours, socks, .direct]).proxies
        try #require(proxies.count == 6)
        #expect(proxies[0] == ours && proxies[3] == socks)
        #expect([1, 2, 4, 5].allSatisfy { proxies[$0].engine?.credentials == nil })
    }

    @Test(arguments: ["SOC\u{212A}S5 a.example:1", "\u{17F}OCKS5 a.example:1", "DIRECT\u{301}"])
    func kindsOfProxiesAreBytes(_ text: String) {
        #expect(throws: TrellisError.self) { try PACResult(parsing: text) }
    }
}
