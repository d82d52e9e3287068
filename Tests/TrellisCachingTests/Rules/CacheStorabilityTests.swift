import CurlEngine
import HTTPTypes
import Testing

@testable import TrellisCaching
@testable import TrellisCore

/// The decision whether a response may be stored.
struct CacheStorabilityTests {
    /// A response with its request, and the decisions of a cache for one user and of one for many.
    struct Row: Sendable, CustomTestStringConvertible {
        let section: RFCSection
        let lines: [String]
        let own: CacheStorability
        let shared: CacheStorability
        let status: Int
        let method: String
        let request: [String]
        var testDescription: String { "\(section): \(method) \(request) → \(status) \(lines)" }

        init(
            _ section: RFCSection, _ lines: [String], _ own: CacheStorability, shared: CacheStorability? = nil,
            status: Int = 200,
            method: String = "GET", request: [String] = []
        ) {
            (self.section, self.lines, self.own, self.shared) = (section, lines, own, shared ?? own)
            (self.status, self.method, self.request) = (status, method, request)
        }
    }

    private static let fresh = "Cache-Control: max-age=60"
    private static let range = "Content-Range: bytes 0-4/10"

    static let rows: [Row] = [
        // Explicit freshness, or else a response that can be validated.
        Row(.rfc9111("3"), [fresh], .storable), Row(.rfc9111("3"), [], .refused(.notReusable)),
        Row(.rfc9111("3"), ["ETag: \"a\""], .storable),
        Row(.rfc9111("3"), ["Last-Modified: \(CacheSamples.date(-1))"], .storable),
        Row(.rfc9111("3"), ["Cache-Control: max-age=0"], .refused(.notReusable)),
        Row(.rfc9111("3"), ["Cache-Control: max-age=0", "ETag: \"a\""], .storable),
        Row(.rfc9111("5.2.2.10"), ["Cache-Control: s-maxage=60"], .refused(.notReusable), shared: .storable),
        // Responses that may be stale.
        Row(.rfc5861("3"), ["Cache-Control: max-age=0, stale-while-revalidate=60"], .storable),
        Row(.rfc5861("4"), ["Cache-Control: max-age=0, stale-if-error=60"], .storable),
        Row(.rfc5861("3"), ["Cache-Control: max-age=0, stale-while-revalidate=0"], .refused(.notReusable)),
        // Any final status with explicit freshness.
        Row(.rfc9111("3"), [fresh], .storable, status: 299), Row(.rfc9111("3"), [fresh], .storable, status: 302),
        Row(.rfc9111("3"), [fresh], .storable, status: 500),
        Row(.rfc9111("3"), [fresh], .storable, status: 599),
        Row(.rfc9110("15.4.5"), [fresh], .refused(.notReusable), status: 304),
        Row(.rfc9111("3"), ["ETag: \"a\""], .refused(.notReusable), status: 302),
        Row(.rfc9111("4.2.2"), ["ETag: \"a\""], .storable, status: 404),
        Row(.rfc9111("5.2.2.9"), ["ETag: \"a\"", "Cache-Control: public"], .storable, status: 302),
        Row(
            .rfc9111("5.2.2.7"), ["ETag: \"a\"", "Cache-Control: private"], .storable, shared: .refused(.private),
            status: 302),
        Row(.rfc9111("5.2.1.5"), [fresh], .refused(.requestNoStore), request: ["Cache-Control: no-store"]),
        Row(.rfc9111("5.2.2.5"), ["Cache-Control: max-age=60, no-store"], .refused(.noStore)),
        Row(.rfc9111("5.2.2.5"), ["Cache-Control: no-store", "ETag: \"a\""], .refused(.noStore)),
        Row(.rfc9111("5.2.2.3"), ["Cache-Control: max-age=60, must-understand, no-store"], .storable),
        Row(.rfc9111("5.2.2.3"), ["Cache-Control: max-age=60, must-understand"], .refused(.unknownStatus), status: 299),
        Row(.rfc9111("5.2.2.7"), ["Cache-Control: max-age=60, private"], .storable, shared: .refused(.private)),
        Row(
            .rfc9111("5.2.2.7"), ["Cache-Control: max-age=60, private=\"Set-Cookie\""], .storable,
            shared: .refused(.private)),
        // Directives that contradict each other: the more restrictive one counts (RFC 9111, section 4.2.1), in any order and on any line.
        Row(
            .rfc9111("5.2.2.7"), ["Cache-Control: max-age=60, public, private"], .storable, shared: .refused(.private)),
        Row(
            .rfc9111("5.2.2.7"), ["Cache-Control: private", "Cache-Control: public, max-age=60"], .storable,
            shared: .refused(.private)),
        Row(
            .rfc9111("5.2.2.7"), ["Cache-Control: public, private, max-age=60"], .storable,
            shared: .refused(.private), request: ["Authorization: Basic YTpi"]),
        Row(
            .rfc9111("5.2.2.7"), ["Cache-Control: public, private=\"Set-Cookie\", s-maxage=60", "ETag: \"a\""],
            .storable,
            shared: .refused(.private)),
        Row(.rfc9111("5.2.2.5"), ["Cache-Control: public, no-store, max-age=60"], .refused(.noStore)),
        Row(
            .rfc9111("3.5"), [fresh], .storable, shared: .refused(.authorization),
            request: ["Authorization: Basic YTpi"]),
        Row(
            .rfc9111("5.2.2.9"), ["Cache-Control: max-age=60, public"], .storable,
            request: ["Authorization: Basic YTpi"]),
        Row(
            .rfc9111("5.2.2.2"), ["Cache-Control: max-age=60, must-revalidate"], .storable,
            request: ["Authorization: Basic YTpi"]),
        Row(
            .rfc9111("5.2.2.10"), ["Cache-Control: s-maxage=60", "ETag: \"a\""], .storable,
            request: ["Authorization: Basic YTpi"]),
        Row(.rfc9111("4.1"), [fresh, "Vary: *"], .refused(.varyAny)),
        Row(.rfc9111("4.1"), [fresh, "Vary: Accept", "Vary: *"], .refused(.varyAny)),
        Row(.rfc9111("4.1"), [fresh, "Vary: Accept, *"], .refused(.varyAny)),
        Row(.rfc9111("4.1"), [fresh, "Vary: a b"], .refused(.varyAny)),
        Row(.rfc9111("4.1"), [fresh, "Vary: "], .storable),
        // Methods.
        Row(.rfc9110("9.3.2"), [fresh], .refused(.method), method: "HEAD"),
        Row(.rfc9110("9.3.4"), [fresh], .refused(.method), method: "PUT"),
        Row(.rfc9110("9.2.3"), [fresh], .refused(.method), method: "M-SEARCH"),
        Row(.rfc9110("9.3.3"), [fresh], .storable, method: "POST"),
        Row(.rfc9110("9.3.3"), ["ETag: \"a\""], .refused(.method), method: "POST"),
        Row(.rfc9111("3.3"), [fresh, range, "ETag: \"a\""], .storable, status: 206),
        Row(.rfc9111("3.4"), [fresh, range], .refused(.range), status: 206),
        Row(.rfc9111("3.4"), [fresh, range, "ETag: W/\"a\""], .refused(.range), status: 206),
        Row(.rfc9111("3.3"), [fresh, "ETag: \"a\""], .refused(.range), status: 206),
        Row(.rfc9111("3.3"), [fresh, "Content-Range: bytes 0-4/*", "ETag: \"a\""], .refused(.range), status: 206),
        // A part whose status says that it is complete.
        Row(.rfc9110("14.4"), [fresh, range, "ETag: \"a\""], .refused(.range)),
        Row(.rfc9110("14.4"), [fresh, "Content-Range: bytes=0-4"], .refused(.range), status: 203),
        Row(.rfc9110("14.4"), [fresh, "Content-Range: bytes 0-9/10"], .storable),
        Row(.rfc9110("14.4"), [fresh, "Content-Range: items 0-4/10"], .storable),
        // Cookies of a response do not matter.
        Row(.rfc9111("7.3"), [fresh, "Set-Cookie: a=b"], .storable),
    ]

    @Test(arguments: rows)
    func theDecisionIsAsInTheRFC(_ row: Row) throws {
        let head = CacheSamples.head(row.lines, status: row.status)
        let method = try #require(HTTPRequest.Method(row.method))
        let request = CacheRequestFields(CacheSamples.fields(row.request))
        func decision(_ policy: CachePolicy) -> CacheStorability {
            CacheStorability.decision(
                CacheFacts(CachedHead(head, request: request.headers), Boxed(policy)), to: method, request)
        }
        #expect(decision(CachePolicy()) == row.own)
        #expect(decision(CachePolicy(sharing: .shared)) == row.shared)
    }

    // MARK: Vary

    /// Equal fields, or those that differ in what makes no difference (RFC 9111, section 4.1).
    static let selections: [(RFCSection, vary: [String], first: [String], second: [String], Bool)] = [
        (.rfc9111("4.1"), ["Vary: Accept"], ["Accept: a"], ["Accept: a"], true),
        (.rfc9111("4.1"), ["Vary: Accept"], ["Accept: a"], ["Accept: b"], false),
        (.rfc9111("4.1"), ["Vary: Accept"], ["Accept: a"], [], false),
        (.rfc9111("4.1"), ["Vary: Accept"], [], ["Accept: "], false),
        (.rfc9111("4.1"), ["Vary: Accept"], [], ["Other: a"], true),
        (.rfc9110("5.1"), ["vary: ACCEPT"], ["Accept: a"], ["accept: a"], true),
        (.rfc9110("12.5.5"), ["Vary: Accept, X"], ["Accept: a", "X: 1"], ["Accept: a", "X: 2"], false),
        (.rfc9110("12.5.5"), ["Vary: Accept", "Vary: X"], ["Accept: a", "X: 1"], ["Accept: a", "X: 2"], false),
        (.rfc9110("5.3"), ["Vary: X"], ["X: a", "X: b"], ["X: a,b"], true),
        (.rfc9110("5.6.1.2"), ["Vary: X"], ["X: a , b"], ["X: a,b"], true),
        (.rfc9111("4.1"), ["Vary: X"], ["X: a,,b"], ["X: a,b"], false),
        (.rfc9111("4.1"), ["Vary: X"], ["X: a,"], ["X: a"], false),
        (
            .rfc9111("4.1"), ["Vary: Referer"], ["Referer: https://e/?ids=1,,2"], ["Referer: https://e/?ids=1,2"],
            false
        ),
        (.rfc9111("4.1"), ["Vary: X"], ["X: a, b"], ["X: b, a"], false),
        (.rfc9111("4.1"), ["Vary: X"], ["X: a"], ["X: A"], false),
        (.rfc9110("5.6.4"), ["Vary: X"], ["X: \"a, b\""], ["X: \"a,b\""], false),
        (
            .rfc9110("12.5.4"), ["Vary: Accept-Language"], ["Accept-Language: en, DE;q=0.5"],
            ["Accept-Language: EN,de;q=0.5"], true
        ),
        (
            .rfc9110("12.5.4"), ["Vary: Accept-Language"], ["Accept-Language: de, en"],
            ["Accept-Language: en, de"], false
        ),
        (
            .rfc9110("12.5.3"), ["Vary: Accept-Encoding"], ["Accept-Encoding: gzip, BR"],
            ["Accept-Encoding: br,gzip"], true
        ),
        (.rfc9110("12.5.4"), ["Vary: Accept-Language"], ["Accept-Language: en"], ["Accept-Language: en, de"], false),
        (
            .rfc9110("12.5.4"), ["Vary: Accept-Language"], ["Accept-Language: en;q=0.5"],
            ["Accept-Language: en; q=0.5"], true
        ),
        (.rfc9111("4.1"), ["Vary: X"], ["X: \u{E9}"], ["X: e\u{301}"], false),
        (.rfc9110("5.6.1.2"), ["Vary: "], ["X: a"], ["X: b"], true),
    ]

    @Test(arguments: selections)
    func aSelectionMatchesEquivalentRequests(
        _ section: RFCSection, _ vary: [String], _ first: [String], _ second: [String], _ isMatch: Bool
    ) throws {
        let selection = VarySelection(of: CacheSamples.fields(vary), request: CacheSamples.fields(first))
        #expect(try #require(selection).matches(CacheSamples.fields(second)) == isMatch)
        #expect(try #require(selection).matches(CacheSamples.fields(first)))
    }
}
