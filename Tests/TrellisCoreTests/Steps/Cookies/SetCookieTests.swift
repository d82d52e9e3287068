import TestSupport
import Testing

@testable import TrellisCore

/// The parser of `Set-Cookie` (section 5.6), and the cookies that are sent back. Many rows are from the working group's test
/// suite, with nameless cookies as in the later draft.
struct SetCookieTests {
    static let fields: [([String], String?)] = [
        (["foo=bar"], "foo=bar"), (["foo"], "foo"), (["foo=bar; version=1;"], "foo=bar"),
        (["foo=bar; customvalue=\"1000 or more\";"], "foo=bar"), (["foo=bar", "foo=qux"], "foo=qux"),
        (["foo1=bar", "foo2=qux"], "foo1=bar; foo2=qux"), (["z=y", "a=b"], "z=y; a=b"),
        (["z=y, a=b"], "z=y, a=b"), (["z=y; foo=bar, a=b"], "z=y"), (["foo=b;max-age=3600, c=d;path=/"], "foo=b"),
        (["a=b", "=", "c=d"], "a=b; c=d"), (["a=b", "=x", "c=d"], "a=b; x; c=d"), (["a=b", "x="], "a=b; x="),
        (["foo", ""], "foo"), (["foo", "; bar"], "foo"), (["foo", "   "], "foo"), (["foo", "bar"], "bar"),
        (["foo", "=bar"], "bar"), (["six", "seven", " =eight", "test=six"], "eight; test=six"),
        (["aBc=\"zzz \"   ;"], "aBc=\"zzz \""), (["aBc=\"zz;pp\" ; ;"], "aBc=\"zz"),
        (["aBc=\"zzz \"   \"ppp\"  ;"], "aBc=\"zzz \"   \"ppp\""), (["BLAHHH; path=/;"], "BLAHHH"),
        (["  A  = BC  ;foo;;;   bar"], "A=BC"), (["  A=== BC  ;foo;;;   bar"], "A=== BC"), (["    "], nil), ([""], nil),
        (["\t a\t=\t b c \t; x"], "a=b c"), (["a=b\tc"], "a=b\tc"), (["=a=bar"], "a=bar"), (["===a=bar"], "==a=bar"),
        (["=foo=bar", "aaa"], "aaa"), (["foo bar=baz"], "foo bar=baz"), (["foo;bar=baz"], "foo"),
        (["\"a=b\"=bar", "\"a=qux"], "\"a=qux"), (["$Version=1; foo=bar"], "$Version=1"), (["!a=bar"], "!a=bar"),
        (["foo=春节回家路·春运"], "foo=春节回家路·春运"), (["春节=b; c"], "春节=b"),
        (["a=%6Fb%0d%0a"], "a=%6Fb%0d%0a"),
        // Names are compared by octets, not by characters: these two names are written differently.
        (["\u{e9}=1", "e\u{301}=2"], "\u{e9}=1; e\u{301}=2"),
    ]

    @Test(arguments: fields)
    func comesBack(_ fields: [String], _ expected: String?) throws {
        #expect(try CookieStore.sent(after: fields) == expected)
    }

    @Test(
        arguments: (0...0x7f).filter { $0 != 9 && ($0 < 0x20 || $0 == 0x7f) },
        ["a\u{0}b=c", "a=b\u{0}c", "a=b; x\u{0}"])
    func aControlCharacterAnywhereIsTheEndOfIt(_ code: Int, _ pattern: String) throws {
        let control = String(UnicodeScalar(UInt8(code)))
        #expect(try CookieStore.sent(after: [pattern.replacing("\u{0}", with: control)]) == nil)
        #expect(try CookieStore.sent(after: [pattern.replacing("\u{0}", with: "\t")]) != nil)
    }

    @Test(arguments: [(1, 4095), (4096, 0), (0, 4096), (2048, 2048)])
    func nameAndValueHaveALimit(_ name: Int, _ value: Int) throws {
        let (name, value) = (String(repeating: "n", count: name), String(repeating: "v", count: value))
        let expected = name.isEmpty ? value : "\(name)=\(value)"
        #expect(try CookieStore.sent(after: ["\(name)=\(value); Path=/"]) == expected)
        #expect(try CookieStore.sent(after: ["\(name)=\(value)v; Path=/"]) == nil)
    }

    /// The limit on a cookie excludes the white space around the name and the value.
    @Test func theLimitIsOnWhatIsLeft() throws {
        let value = String(repeating: "v", count: 4095)
        #expect(try CookieStore.sent(after: ["  a  =  \(value)   "]) == "a=\(value)")
    }

    @Test func valuesOfMegabytesAreIgnored() throws {
        let size = Scale.count(1, all: 10) << 20
        #expect(SetCookie("a=" + String(repeating: "x", count: size)) == nil)
        let cookie = try #require(SetCookie("a=b; Path=/" + String(repeating: "x", count: size / 10)))
        #expect(cookie.name == "a" && cookie.value == "b" && !cookie.hasPath)
    }

    @Test func thousandsOfAttributesAreRead() throws {
        let many = String(repeating: ";", count: 1 << 15)
        #expect(SetCookie(many) == nil)
        #expect(try #require(SetCookie("a=b\(many) Secure")).isSecure)
    }

    /// An attribute that is too long is ignored, so that an earlier attribute of the same name counts ("ignore the cookie-av").
    @Test func longAttributesAreAsIfTheyWereNotThere() throws {
        let path = "/" + String(repeating: "p", count: 1023)
        let url = "http://home.example.org\(path)"
        #expect(try CookieStore.sent(after: ["a=b; Path=\(path)"], to: url) == "a=b")
        #expect(try CookieStore.sent(after: ["a=b; Path=\(path)"]) == nil)
        #expect(try CookieStore.sent(after: ["a=b; Path=\(path)p"]) == "a=b")
        #expect(try CookieStore.sent(after: ["a=b; Path=/x; Path=\(path)p"]) == nil)
        #expect(try CookieStore.sent(after: ["a=b; Secure=\(path)p"]) == "a=b")
    }

    static let secure: [(String, Bool)] = [
        ("Secure", true), ("seCURe", true), ("\"Secure\"", false), ("Secure=", true), ("Secure=aaaa", true),
        ("Secure qux", false), ("Secure =aaaaa", true), ("Secure; qux", true), ("   Secure    ; qux", true),
        ("qux=\"aaa;bbb\"; Secure", true), ("Securely", false), ("", false),
    ]

    @Test(arguments: secure)
    func secureIsFound(_ attribute: String, _ isSecure: Bool) throws {
        #expect(try #require(SetCookie("foo=bar; \(attribute)")).isSecure == isSecure)
    }

    static let sameSites: [(String, Cookie.SameSite)] = [
        ("SameSite=Lax", .lax), ("samesite = STRICT", .strict), ("SameSite=none", .none), ("SameSite=", .unspecified),
        ("SameSite", .unspecified), ("SameSite=Lax; SameSite=Extreme", .unspecified),
        ("SameSite=\"Lax\"", .unspecified),
        ("Same-Site=Lax", .unspecified),
    ]

    @Test(arguments: sameSites)
    func sameSiteIsFound(_ attribute: String, _ expected: Cookie.SameSite) throws {
        #expect(try #require(SetCookie("foo=bar; \(attribute)")).sameSite == expected)
    }

    static let ages: [(String, Int64?)] = [
        ("60", 60), ("0", 0), ("-1", 0), ("-0", 0), ("-", nil), ("", nil), ("+1", nil), ("1.5", nil), ("50,399", nil),
        ("1 2", nil), ("\"60\"", nil), ("9223372036854775807", .max), ("9223372036854775808", .max),
        (String(repeating: "9", count: 1000), .max), ("-" + String(repeating: "9", count: 1000), 0), ("007", 7),
        ("６０", nil),
    ]

    @Test(arguments: ages)
    func maxAgeIsFound(_ text: String, _ seconds: Int64?) throws {
        #expect(try #require(SetCookie("foo=bar; Max-Age=\(text)")).lifetime.maxAge == seconds)
        #expect(try #require(SetCookie("foo=bar; Max-Age=5; Max-Age=\(text)")).lifetime.maxAge == seconds ?? 5)
    }

    @Test func httpOnlyIsFound() throws {
        #expect(try #require(SetCookie("foo=bar; HTTPONLY=no")).isHTTPOnly)
        #expect(try #require(SetCookie("foo=bar")).isHTTPOnly == false)
    }
}
