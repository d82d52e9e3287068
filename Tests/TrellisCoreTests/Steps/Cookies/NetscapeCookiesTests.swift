import FoundationEssentials
import TestSupport
import Testing

@testable import TrellisCore

/// The format of curl's cookie files.
struct NetscapeCookiesTests {
    private static let now = WallClock().now

    private func read(_ text: String) -> [Cookie] { NetscapeCookies(Data(text.utf8), at: Self.now).cookies }

    @Test func aLineIsACookie() throws {
        let cookie = try #require(read("#HttpOnly_.Example.com\tTRUE\t/foo\tTRUE\t1900000000\tid\ta=b c\n").first)
        #expect((cookie.name, cookie.value, cookie.domain, cookie.path) == ("id", "a=b c", "example.com", "/foo"))
        #expect(!cookie.isHostOnly && cookie.isSecure && cookie.isHTTPOnly)
        #expect(cookie.expires == Date(timeIntervalSince1970: 1_900_000_000))
        #expect(cookie.sameSite == .unspecified && cookie.created == Self.now)
    }

    static let lines: [(String, String?)] = [
        ("a.test\tFALSE\t/\tFALSE\t0\tn\tv", "n=v"), ("a.test\tFALSE\t/\tFALSE\t0\tn\t", "n="),
        ("a.test\tFALSE\t/\tFALSE\t0\tn", "n="), ("a.test\tFALSE\t/\tFALSE\t0\t\tv", "v"),
        ("a.test\tfalse\t/\tfalse\t0\tn\tv\r", "n=v"), ("[::1]\tFALSE\t/\tFALSE\t0\tn\tv", "n=v"),
        ("::1\tFALSE\t/\tFALSE\t0\tn\tv", "n=v"), ("a.test\tFALSE\t/\tFALSE\t-5\tn\tv", "n=v"),
        ("a.test\tFALSE\t/\tFALSE\t9223372036854775807\tn\tv", "n=v"),
        ("# a.test\tFALSE\t/\tFALSE\t0\tn\tv", nil), ("#HttpOnly", nil), ("#HttpOnly_", nil), ("#", nil), ("", nil),
        ("a.test\tFALSE\t/\tFALSE\tsoon\tn\tv", nil), ("a.test\tFALSE\t/\tFALSE\t99999999999999999999\tn\tv", nil),
        ("a.test FALSE / FALSE 0 n v", nil), ("a.test\tFALSE\tx\tFALSE\t0\tn\tv", nil),
        ("\tFALSE\t/\tFALSE\t0\tn\tv", nil),
        ("a.test\tFALSE\t/\tFALSE\t0\t__Secure-n\tv", nil),
        ("a.test\tFALSE\t/\tTRUE\t0\t__Secure-n\tv", "__Secure-n=v"),
        ("a.test\tTRUE\t/\tTRUE\t0\t__Host-n\tv", nil), ("a.test\tFALSE\t/\tFALSE\t0\tn;m\tv", nil),
        ("a.test\tFALSE\t/\tFALSE\t0\tn\tv\u{1}", nil), ("a.test\tFALSE\t/\tFALSE\t0\t\t", nil),
    ]

    @Test(arguments: lines)
    func whatALineIs(_ line: String, _ expected: String?) {
        for text in [line, line + "\n", "\n# x\n\(line)\n\n"] { #expect(Cookie.field(read(text)) == expected) }
    }

    @Test func whatIsWrittenIsReadAgain() throws {
        let cookies = [
            Cookie(name: "a", value: "1", domain: "a.test"),
            Cookie(name: "b", value: "", domain: "a.test", isHostOnly: false, path: "/x"),
            Cookie(name: "", value: "nameless", domain: "[::1]", isSecure: true, isHTTPOnly: true),
            Cookie(name: "ü", value: "\"q\" =,", domain: "b.test", expires: Date(timeIntervalSince1970: 1_900_000_000)),
            Cookie(name: "late", value: "1", domain: "b.test", expires: .distantFuture),
        ].compactMap { $0 }
        #expect(cookies.count == 5)
        let data = NetscapeCookies(cookies: cookies).data
        let read = NetscapeCookies(data, at: Self.now)
        #expect(read.cookies.count == 5)
        for (one, two) in zip(cookies, read.cookies) where one.name != "late" { #expect(one.isSaved(by: two)) }
        #expect(read.cookies.map(\.isSecure) == cookies.map(\.isSecure))
        #expect(NetscapeCookies(cookies: read.cookies).data == data)
        #expect(data.starts(with: Array("# Netscape HTTP Cookie File\n".utf8)))
    }

    /// A cookie of an address is host-only, also where the file says otherwise.
    @Test(arguments: ["::1", ".::1", "[::1]", ".[::1]", "127.0.0.1", ".127.0.0.1"])
    func addressesAreForThemselves(_ domain: String) throws {
        let cookie = try #require(read("\(domain)\tTRUE\t/\tFALSE\t0\tn\tv").first)
        #expect(cookie.isHostOnly && ["[::1]", "127.0.0.1"].contains(cookie.domain))
        let again = NetscapeCookies(NetscapeCookies(cookies: [cookie]).data, at: Self.now).cookies
        #expect(again.first.map { $0.isSaved(by: cookie) } == true)
    }

    /// Lifetimes are rounded down to whole seconds, the precision of the format, so that no cookie lives longer.
    @Test func aSecondThatHasBegunDoesNotCount() throws {
        let end = Date(timeIntervalSince1970: 1_900_000_000.9)
        let cookie = try #require(Cookie(name: "a", value: "1", domain: "a.test", expires: end))
        let text = String(decoding: NetscapeCookies(cookies: [cookie]).data, as: UTF8.self)
        #expect(text.hasSuffix("\na.test\tFALSE\t/\tFALSE\t1900000000\ta\t1\n"))
    }

    @Test func cookiesWithTabsAreNotWritten() throws {
        let cookie = try #require(Cookie(name: "a", value: "1\t2", domain: "a.test"))
        #expect(NetscapeCookies(cookies: [cookie]).data == NetscapeCookies().data)
    }

    /// Octets that are not UTF-8, such as Latin-1: a value is a sequence of octets without an encoding (RFC 6265bis, section
    /// 5.6).
    @Test(arguments: [
        [0xfc], [0xc3, 0xbc], [0xc3], [0xc3, 0xfc], [0xee, 0xbf, 0xbc], [0xed, 0xa0, 0x80], [0xff, 0xfe],
    ])
    func octetsThatAreNoTextAreReadAndWritten(_ octets: [UInt8]) {
        let line = Data("a.test\tFALSE\t/\tFALSE\t0\tn\tv".utf8) + octets + Data("w\n".utf8)
        let read = NetscapeCookies(line + Data("b.test\tFALSE\t/\tFALSE\t0\tn\tv\n".utf8), at: Self.now)
        #expect(read.cookies.map(\.domain) == ["a.test", "b.test"])
        #expect(read.data.split(separator: 10).dropFirst(2).first == line.dropLast())
    }

    @Test func everySecondIsReadAndWritten() {
        for seconds in [Int64.min, -1, 1, .max] {
            let read = NetscapeCookies(Data("a.test\tFALSE\t/\tFALSE\t\(seconds)\tn\tv".utf8), at: Self.now)
            #expect(read.cookies.count == 1)
            #expect(NetscapeCookies(read.data, at: Self.now).cookies.first?.isPersistent == true)
        }
    }
}
