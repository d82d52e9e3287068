import Testing

@testable import TrellisCaching
@testable import TrellisCore

/// The directives of `Cache-Control`, and the dictionaries of targeted fields.
struct CacheDirectivesTests {
    typealias Seconds = CacheDirectives.Seconds

    static let ages: [(RFCSection, [String], Seconds)] = [
        // Names in any case, among others.
        (.rfc9111("5.2"), ["max-age=60"], .value(60)), (.rfc9111("5.2"), ["MaX-aGe=60"], .value(60)),
        (.rfc9111("5.2"), ["foo, max-age=60 , bar=1"], .value(60)),
        // A quoted argument is an argument.
        (.rfc9111("5.2"), ["max-age=\"60\""], .value(60)),
        (.rfc9111("5.2"), ["extension=\"max-age=3600\", max-age=1"], .value(1)),
        (.rfc9111("5.2"), ["max-age=1, extension=\"a\\\"max-age=3600\""], .value(1)),
        (.rfc9111("5.2"), ["extension=\"max-age=3600\""], .none),
        // Digits, and a limit.
        (.rfc9111("1.2.2"), ["max-age=0060"], .value(60)), (.rfc9111("1.2.2"), ["max-age=2147483648"], .value(1 << 31)),
        (.rfc9111("1.2.2"), ["max-age=99999999999"], .value(1 << 31)),
        (.rfc9111("1.2.2"), ["max-age=1000000000000000000000000000000"], .value(1 << 31)),
        // A number that is malformed or contradictory is stale.
        (.rfc9111("4.2.1"), ["max-age=-1"], .invalid), (.rfc9111("4.2.1"), ["max-age=60.0"], .invalid),
        (.rfc9111("4.2.1"), ["max-age=60a"], .invalid),
        (.rfc9111("4.2.1"), ["max-age=a60"], .invalid), (.rfc9111("4.2.1"), ["max-age='60'"], .invalid),
        (.rfc9111("4.2.1"), ["max-age"], .invalid), (.rfc9111("4.2.1"), ["max-age="], .invalid),
        (.rfc9111("4.2.1"), ["max-age =60"], .invalid), (.rfc9111("4.2.1"), ["max-age= 60"], .invalid),
        (.rfc9111("4.2.1"), ["max-age=60 60"], .invalid),
        (.rfc9111("4.2.1"), ["max-age=60=60"], .invalid), (.rfc9111("4.2.1"), ["max-age=\"60"], .invalid),
        (.rfc9111("4.2.1"), ["max-age=60, max-age=1"], .invalid),
        (.rfc9111("4.2.1"), ["max-age=60", "max-age=1"], .invalid),
        (.rfc9111("4.2.1"), ["max-age=1, max-age=60"], .invalid),
        (.rfc9111("4.2.1"), ["max-age=60, max-age=60"], .value(60)), (.rfc9111("5.2"), [], .none),
        (.rfc9111("5.2"), [""], .none), (.rfc9111("5.2"), [",,"], .none),
        (.rfc9111("5.2"), ["x-max-age=60"], .none),
    ]

    @Test(arguments: ages)
    func secondsAreReadStrictly(_ section: RFCSection, _ lines: [String], _ expected: Seconds) {
        #expect(CacheDirectives(parsing: lines).seconds(.maxAge) == expected)
    }

    @Test(arguments: [
        "no-store", "NO-STORE", "max-age=1,no-store", "a=\"x, y\", no-store", "no-store=1", "no-store=\"a\"",
        // A quotation mark without its counterpart hides nothing.
        "a=\"x, no-store", "\"x, no-store", "no-store, a=\"",
        // Nor does one inside of a token, or behind an argument (RFC 9111, section 5.2).
        "a=x\", no-store", "a\", no-store", "a=x\", no-store, b=y\"", "a=\"x\"\", no-store", " a=\"\\\"\"\", no-store",
    ])
    func aDirectiveIsFound(_ line: String) {
        #expect(CacheDirectives(parsing: [line]).contains(.noStore))
    }

    @Test(arguments: [
        "a=\"no-store\"", "a=\"x, no-store, y\"", "no-stores", "x no-store", "", "a=\"x, no-store\" y",
        "a=\"\\\", no-store\"y",
    ])
    func whatIsNotADirectiveIsNotFound(_ line: String) {
        #expect(!CacheDirectives(parsing: [line]).contains(.noStore))
    }

    @Test func aQuotationMarkOfOneLineHidesNothingInTheNext() {
        #expect(CacheDirectives(parsing: ["a=\"x", "no-store", "b=\""]).contains(.noStore))
    }

    // MARK: Targeted fields (RFC 9651)

    static let dictionaries: [(RFCSection, [String], [StructuredDictionary.Value])] = [
        (.rfc9213("2.1"), ["max-age=60"], [.integer(60)]),
        (.rfc9651("3.2"), ["a, max-age=60;x=1;y"], [.boolean(true), .integer(60)]),
        (.rfc9651("3.2"), ["a=?0, b=?1"], [.boolean(false), .boolean(true)]),
        (.rfc9651("4.2"), ["a=1", "b=-2"], [.integer(1), .integer(-2)]),
        (
            .rfc9651("3.3"),
            ["a=1.5, b=\"x,\\\"y\", c=tok/en:, d=:YQ==:, e=(1 \"a\";x), f=@1, g=%\"%c3%bc\""],
            [.other, .string] + Array(repeating: .other, count: 5)
        ),
        (.rfc9651("4.2.2"), ["a=1, a=2"], [.integer(2)]),
        (.rfc9651("4.2.2"), ["  a=1 \t,\t b=2 "], [.integer(1), .integer(2)]), (.rfc9651("4.2"), [""], []),
        (.rfc9651("3.3.1"), ["*a=999999999999999"], [.integer(999_999_999_999_999)]),
    ]

    /// A comparison with all earlier keys would take minutes.
    @Test(.timeLimit(.minutes(3))) func manyKeysAreRead() throws {
        let keys = (0..<100_000).map { "a\($0)" }
        let dictionary = try #require(StructuredDictionary(parsing: [keys.joined(separator: ","), "a7=5"]))
        #expect(dictionary.members.map(\.key) == keys)
        #expect(dictionary.members[7].value == .integer(5) && dictionary.members[8].value == .boolean(true))
    }

    @Test(arguments: dictionaries)
    func dictionariesAreRead(_ section: RFCSection, _ lines: [String], _ values: [StructuredDictionary.Value]) throws {
        #expect(try #require(StructuredDictionary(parsing: lines)).members.map(\.value) == values)
    }

    @Test(arguments: [
        "max-age=60, &&&&&", "Max-Age=60", "max-age =60", "max-age= 60", "a,", "a,,b", "a=", "a=1000000000000000",
        "a=1.", "a=1.2345", "a=?2", "a=\"x", "a=\"\\x\"", "a=:Y", "a=(1", "a=(1,2)", "a;", "a;X", "a=1 b", "a=@1.5",
        "a=%\"%C3\"", "a=%x", "a=\"\u{FC}\"", "\ta=1", "1=a",
    ])
    func whatIsNoDictionaryIsRefused(_ line: String) {
        #expect(StructuredDictionary(parsing: [line]) == nil)
    }
}
