import HTTPTypes
import Testing

@testable import TrellisCaching
@testable import TrellisCore

/// The age and the time of freshness of stored responses.
struct CacheFreshnessTests {
    /// A response, and its lifetime in a cache for one user and in one for many.
    struct Row: Sendable, CustomTestStringConvertible {
        let section: RFCSection
        let lines: [String]
        let own: Int64
        let shared: Int64
        var status = 200
        var testDescription: String { "\(section): \(status) \(lines)" }

        init(_ section: RFCSection, _ lines: [String], _ own: Int64, shared: Int64? = nil, status: Int = 200) {
            self.section = section
            (self.lines, self.own, self.shared, self.status) = (lines, own, shared ?? own, status)
        }
    }

    private static let now = "Date: \(CacheSamples.date(0))"

    static let rows: [Row] = [
        // The order of the sources.
        Row(.rfc9111("5.2.2.1"), ["Cache-Control: max-age=60"], 60),
        Row(.rfc9111("4.2.1"), ["Cache-Control: max-age=60, s-maxage=5"], 60, shared: 5),
        Row(.rfc9111("5.2.2.10"), ["Cache-Control: s-maxage=5"], 0, shared: 5),
        Row(.rfc9111("4.2.1"), ["Cache-Control: s-maxage=x, max-age=60"], 60, shared: 0),
        Row(.rfc9111("5.3"), [now, "Expires: \(CacheSamples.date(60))"], 60),
        Row(.rfc9111("5.3"), [now, "Expires: \(CacheSamples.date(-60))"], 0),
        Row(.rfc9111("5.3"), [now, "Expires: \(CacheSamples.date(60))", "Cache-Control: max-age=0"], 0),
        Row(.rfc9111("5.3"), [now, "Expires: 0", "Cache-Control: max-age=60"], 60),
        Row(.rfc9111("4.2.1"), [now, "Expires: \(CacheSamples.date(60))", "Cache-Control: max-age=x"], 0),
        // Against the origin's clock, and that of the reception without it.
        Row(.rfc9111("4.2.1"), ["Date: \(CacheSamples.date(-100))", "Expires: \(CacheSamples.date(60))"], 160),
        Row(.rfc9111("5.3"), ["Expires: \(CacheSamples.date(60))"], 60),
        Row(.rfc9111("5.3"), ["Date: yesterday", "Expires: \(CacheSamples.date(60))"], 60),
        // Anything but the three forms is in the past.
        Row(.rfc9110("5.6.7"), [now, "Expires: Sunday, 06-Nov-94 08:50:37 GMT"], 60),
        Row(.rfc9110("5.6.7"), [now, "Expires: Sun Nov  6 08:50:37 1994"], 60),
        Row(.rfc9111("5.3"), [now, "Expires: Sun, 06 Nov 1994 08:50:37 UTC"], 0),
        Row(.rfc9111("5.3"), [now, "Expires: Sun, 06 Nov 1994 08:50:37 AEST"], 0),
        Row(.rfc9111("4.2"), [now, "Expires: Sun, 06 Nov 1994 08:50:37 gmt"], 60),
        Row(.rfc9111("4.2"), [now, "Expires: Sun, 06 Nov 1994 08:50:37 utc"], 0),
        Row(.rfc9111("5.3"), [now, "Expires: Sun 06 Nov 1994 08:50:37 GMT"], 0),
        Row(.rfc9111("5.3"), [now, "Expires: Sun, 06 Nov 94 08:50:37 GMT"], 0),
        Row(.rfc9111("5.3"), [now, "Expires: Sun, 06-Nov-1994 08:50:37 GMT"], 0),
        Row(.rfc9111("5.3"), [now, "Expires: Sun,  06 Nov 1994 08:50:37 GMT"], 0),
        Row(.rfc9111("5.3"), [now, "Expires: Sun, 6 Nov 1994 08:50:37 GMT"], 0),
        Row(.rfc9111("5.3"), [now, "Expires: Sun, 06 Nov 1994 8:50:37 GMT"], 0),
        Row(.rfc9111("4.2"), [now, "Expires: sun, 06 nov 1994 08:50:37 GMT"], 60),
        Row(.rfc9111("4.2"), [now, "Expires: SUNDAY, 06-NOV-94 08:50:37 GMT"], 60),
        Row(
            .rfc9111("4.2.1"),
            [now, "Expires: Sun, 06 Nov 1994 08:50:37 GMT", "Expires: Sun, 06 Nov 1994 08:51:37 GMT"], 0),
        Row(
            .rfc9111("4.2.1"),
            [now, "Expires: Sun, 06 Nov 1994 08:50:37 GMT", "Expires: Sun, 06 Nov 1994 08:50:37 GMT"], 60),
        // A tenth of the time since the last change, for some statuses.
        Row(.rfc9111("4.2.2"), [now, "Last-Modified: \(CacheSamples.date(-600))"], 60),
        Row(.rfc9111("4.2.2"), [now, "Last-Modified: \(CacheSamples.date(-600))"], 60, status: 404),
        Row(.rfc9111("4.2.2"), [now, "Last-Modified: \(CacheSamples.date(-600))"], 0, status: 302),
        Row(
            .rfc9111("4.2.2"), [now, "Last-Modified: \(CacheSamples.date(-600))", "Cache-Control: public"], 60,
            status: 302),
        Row(.rfc9111("4.2.2"), [now, "Last-Modified: \(CacheSamples.date(600))"], 0), Row(.rfc9111("4.2.2"), [now], 0),
        Row(.rfc9111("4.2.2"), [now, "Last-Modified: \(CacheSamples.date(-600_000_000))"], 86_400),
        Row(.rfc9111("4.2.2"), [now, "Last-Modified: \(CacheSamples.date(-600))", "Expires: 0"], 0),
    ]

    @Test(arguments: rows)
    func theLifetimeIsAsInTheRFC(_ row: Row) {
        let head = CacheSamples.head(row.lines, status: row.status)
        #expect(CacheSamples.facts(head).freshness.lifetime == row.own)
        #expect(CacheSamples.facts(head, CachePolicy(sharing: .shared)).freshness.lifetime == row.shared)
    }

    @Test(
        arguments: [
            (.rfc9213("2.2"), ["CDN-Cache-Control: max-age=60"], 60),
            (.rfc9213("2.2"), ["CDN-Cache-Control: max-age=60", "Cache-Control: no-store"], 60),
            (.rfc9213("2.2"), ["CDN-Cache-Control: max-age=0", "Cache-Control: max-age=60"], 0),
            (.rfc9213("2.2"), ["CDN-Cache-Control: ", "Cache-Control: max-age=60"], 60),
            (.rfc9213("2.2"), ["CDN-Cache-Control: max-age=60, &", "Cache-Control: max-age=5"], 5),
            (.rfc9213("2.1"), ["CDN-Cache-Control: max-age=\"60\"", "Cache-Control: max-age=5"], 0),
            (.rfc9213("2.1"), ["CDN-Cache-Control: max-age=-60", "Cache-Control: max-age=5"], 0),
            (.rfc9213("2.2"), ["CDN-Cache-Control: public", "Expires: \(CacheSamples.date(60))"], 0),
            (.rfc9213("2.2"), ["CDN-Cache-Control: max-age=60", "Other-Cache-Control: max-age=5"], 5),
        ] as [(RFCSection, [String], Int64)])
    func aTargetedFieldReplacesTheOthers(_ section: RFCSection, _ lines: [String], _ lifetime: Int64) throws {
        let names = try ["Other-Cache-Control", "CDN-Cache-Control"].map { try #require(HTTPField.Name($0)) }
        let policy = CachePolicy(sharing: .shared, targetedFieldNames: names)
        #expect(CacheSamples.facts(CacheSamples.head(lines), policy).freshness.lifetime == lifetime)
    }

    /// A string of field names counts as the directive without them; other types are left out.
    @Test(
        arguments: [
            (.rfc9213("2.1"), "max-age=60, no-cache=\"a, b\"", ["no-cache"]),
            (.rfc9213("2.1"), "max-age=60, private=\"a\"", ["private"]),
            (.rfc9213("2.1"), "max-age=60, private, no-cache=\"\"", ["no-cache", "private"]),
            (.rfc9213("2.1"), "max-age=60, no-cache=a", []),
            (.rfc9213("2.1"), "max-age=60, private=(\"a\")", []), (.rfc9213("2.1"), "max-age=60, no-cache=?0", []),
            (.rfc9213("2.1"), "max-age=60, must-revalidate=\"a\"", []),
        ] as [(RFCSection, String, [String])])
    func aStringOfFieldNamesIsReadStrictly(_ section: RFCSection, _ value: String, _ expected: [String]) throws {
        let name = try #require(HTTPField.Name("CDN-Cache-Control"))
        let policy = CachePolicy(sharing: .shared, targetedFieldNames: [name])
        let facts = CacheSamples.facts(CacheSamples.head(["CDN-Cache-Control: \(value)"]), policy)
        let directives = facts.freshness.directives
        let known: [CacheDirective] = [.mustRevalidate, .noCache, .private]
        #expect(known.filter(directives.contains).map(\.name) == expected)
        #expect(directives.seconds(.maxAge) == .value(60))
    }

    // MARK: Age (RFC 9111, section 4.2.3)

    /// The larger one of the apparent and the corrected age, with the time in the cache.
    static let ages: [(RFCSection, [String], delay: Double, after: Double, Int64?)] = [
        (.rfc9111("4.2.3"), [], 0, 0, 0), (.rfc9111("4.2.3"), [], 0, 7.5, 7500), (.rfc9111("4.2.3"), [], 2, 7, 9000),
        (.rfc9111("4.2.3"), ["Age: 10"], 2, 7, 19_000),
        (.rfc9111("4.2.3"), ["Date: \(CacheSamples.date(-30))"], 2, 7, 37_000),
        (.rfc9111("4.2.3"), ["Date: \(CacheSamples.date(-30))", "Age: 40"], 2, 7, 49_000),
        (.rfc9111("4.2.3"), ["Date: \(CacheSamples.date(300))"], 0, 7, 7000),
        // The first of several; what is no number is ignored.
        (.rfc9111("5.1"), ["Age: 10, 20"], 0, 0, 10_000), (.rfc9111("5.1"), ["Age: 10", "Age: 20"], 0, 0, 10_000),
        (.rfc9111("5.1"), ["Age: x"], 0, 0, 0),
        (.rfc9111("5.1"), ["Age: -10"], 0, 0, 0), (.rfc9111("5.1"), ["Age: 10.0"], 0, 0, 0),
        (.rfc9111("1.2.2"), ["Age: 99999999999999999999"], 0, 0, (1 << 31) * 1000),
        // The clock was set back.
        (.rfc9111("4.2.3"), [], 0, -3, 0), (.rfc9111("4.2.3"), [], 0, -6, nil),
        (.rfc9111("4.2.3"), [], 0, -1_000_000, nil),
    ]

    @Test(arguments: ages)
    func theAgeIsAsInTheRFC(
        _ section: RFCSection, _ lines: [String], _ delay: Double, _ after: Double, _ age: Int64?
    ) {
        #expect(CacheSamples.facts(CacheSamples.head(lines, delay: delay)).age(at: CacheSamples.time(after)) == age)
    }
}
