import Testing

@testable import TrellisCaching
@testable import TrellisCore

/// The directives of `Cache-Control`.
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
}
