import HTTPTypes
import Testing

@testable import CurlEngine
@testable import TrellisCaching
@testable import TrellisCore

/// The facts that decide about a response: those that are found in its bytes are those of its parsed fields.
struct CacheHeadersTests {
    private static let now = CacheSamples.start
    private static let date = "Date: \(CacheSamples.date(0))"

    private static func wire(_ lines: [String]) -> WireFields {
        WireFields(bytes: Array(lines.map { $0 + "\n" }.joined().utf8), count: lines.count)
    }

    private static func received(_ lines: [String]) -> ReceivedFields {
        let head = WireHead(version: .http1_1, status: 200, reason: "OK", fields: wire(lines))
        return ReceivedFields(
            ResponseHead(head), nameLengths: ReceivedFields.cacheHeaderLengths(CachePolicy()), now: now)
    }

    /// Heads whose facts need no parsed fields.
    static let plain: [[String]] = [
        [], ["Server: x"], [date], [date, "cache-control: max-age=60"], [date, "CACHE-CONTROL: max-age=60, public"],
        [date, "Cache-Control: max-age=60,s-maxage=0", "Cache-Control: no-cache, max-age=60"],
        ["Cache-Control:\tmax-age=99999999999999999999 , x, y=z"], ["Cache-Control:"], ["Cache-Control: ,, no-store"],
        ["Cache-Control: max-age=a, max-stale"], ["Cache-Control: max-age=1", "Cache-Control: max-age=2"],
        ["Expires: 0"], ["Expires: -1"], ["Expires:"], ["Expires: \(CacheSamples.date(60))", date],
        ["Last-Modified: \(CacheSamples.date(-60))", "ETag: \"a\""], ["ETag:"], ["ETag: W/\"x\""], ["Age: 0"],
        ["Age: 99999999999"], ["age:7"], ["Vary: Accept"], ["Vary: *", "Vary: A"], ["Content-Encoding: gzip"],
        ["Content-Range: bytes 0-4/10"], ["Connection: keep-alive"], ["Connection: close", "connection: keep-alive"],
        // Other names of the same length.
        ["Agf: 1", "Data: x", "Vari: x", "Expirez: 0", "Connectiom: x", "Cache-Contro1: no-store", "Xast-Modified: 0"],
        ["Content-Language: en", "Content-Encodinh: x", "Content-Rangf: x"],
    ]

    @Test(arguments: plain)
    func theFactsOfUsualFieldsAreInTheirBytes(_ lines: [String]) throws {
        let wire = Self.wire(lines)
        let facts = try #require(CacheHeaders(wire))
        #expect(facts == CacheHeaders(HTTPFields(wire), now: Self.now))
    }

    /// Heads whose fields must be parsed.
    static let unusual: [[String]] = [
        [date, date], [date, "Date: \(CacheSamples.date(1))"], ["Date: Sunday, 06-Nov-94 08:49:37 GMT"], ["Date: x"],
        ["Date: Sun Nov  6 08:49:37 1994"], ["Expires: Sun Nov  6 08:49:37 1994"], ["Expires: 0", "Expires: 0"],
        ["Expires: Sun, 06 Nov 1994 08:49:37 UTC"], ["Last-Modified: 0"],
        ["Last-Modified: sun, 06 Nov 1994 08:49:37 GMT"], ["ETag: \"a\"", "ETag: \"b\""], ["ETag: \"\u{E9}\""],
        ["Age: 1, 2"], ["Age: -1"], ["Age:"], ["Age: 5", "Age: 6"],
        ["Age: x", "Age: 6"], ["Cache-Control: Max-Age=60"], ["Cache-Control: max-age=\"60\""],
        ["Cache-Control: no-store, max-age="], ["Cache-Control: private=\"a, no-store\""],
        ["Cache-Control: a=\"no-store\", max-age=1"],
    ]

    @Test(arguments: unusual)
    func unusualFieldsAreParsed(_ lines: [String]) {
        let wire = Self.wire(lines)
        #expect(CacheHeaders(wire) == nil)
        #expect(Self.received(lines).values == CacheHeaders(HTTPFields(wire), now: Self.now))
    }

    /// A field that `Connection` names concerns the connection alone (RFC 9110, section 7.6.1).
    @Test func fieldsThatConnectionNamesDoNotDecide() {
        #expect(CacheHeaders(Self.wire(["Connection: Keep-Alive"])) == nil)
        let fields = Self.received(["Cache-Control: no-store", "Connection: cache-control", "Age: 7"])
        #expect(fields.values.directives.isEmpty && fields.values.age == 7)
        #expect(fields.deciding[.cacheControl] == nil && fields.complete[.cacheControl] == nil)
    }

    @Test func theFieldsThatDecideAreParsedWhenTheyAreNeeded() {
        let fields = Self.received([Self.date, "ETag: \"a\"", "Vary: Accept", "X-Other: 1"])
        #expect(fields.values.hasEntityTag && fields.values.hasVary)
        #expect(fields.deciding[.eTag] == "\"a\"" && fields.deciding[.vary] == "Accept")
        #expect(fields.complete.count == 4)
    }

    // MARK: Directives

    @Test(arguments: CacheDirective.allCases)
    func aDirectiveHasOneName(_ directive: CacheDirective) {
        var name = directive.name
        #expect(CacheDirectives(parsing: [name]).contains(directive))
        #expect(CacheDirectives(parsing: [name.uppercased()]).contains(directive))
        #expect(CacheDirective.allCases.filter(CacheDirectives(parsing: [name]).contains) == [directive])
        // A name of the same length is no directive, whichever of its letters differs.
        for index in name.utf8.indices {
            name.replaceSubrange(index...index, with: "q")
            let others = CacheDirectives(parsing: [name])
            #expect(!others.isEmpty && !CacheDirective.allCases.contains(where: others.contains), "\(name)")
            name = directive.name
        }
    }

    @Test func aDirectiveWithAnArgumentIsQualified() {
        let directives = CacheDirectives(parsing: ["no-cache=\"a\", max-stale, private", "max-age=1, min-fresh=x"])
        let unqualified = CacheDirective.allCases.filter(directives.isUnqualified)
        #expect(unqualified == [.maxStale, .private])
        #expect(directives.contains(.noCache) && directives.seconds(.maxAge) == .value(1))
        #expect(directives.seconds(.minFresh) == .invalid && directives.seconds(.maxStale) == .invalid)
    }
}
