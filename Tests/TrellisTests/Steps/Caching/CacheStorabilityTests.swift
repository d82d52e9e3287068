import HTTPTypes
import Testing

@testable import Trellis

/// The decision whether a response may be stored.
struct CacheStorabilityTests {
    /// A response with its request, and the decisions of a cache for one user and of one for many.
    struct Row: Sendable, CustomTestStringConvertible {
        let lines: [String]
        let own: CacheStorability
        let shared: CacheStorability
        let status: Int
        let method: String
        let request: [String]
        var testDescription: String { "\(method) \(request) → \(status) \(lines)" }

        init(
            _ lines: [String], _ own: CacheStorability, shared: CacheStorability? = nil, status: Int = 200,
            method: String = "GET", request: [String] = []
        ) {
            (self.lines, self.own, self.shared) = (lines, own, shared ?? own)
            (self.status, self.method, self.request) = (status, method, request)
        }
    }

    private static let fresh = "Cache-Control: max-age=60"
    private static let range = "Content-Range: bytes 0-4/10"

    /// The sections are those of RFC 9111.
    static let rows: [Row] = [
        // 3: explicit freshness, or else 4.2.2 and 4.3.1: a response that can be validated.
        Row([fresh], .storable), Row([], .refused(.notReusable)), Row(["ETag: \"a\""], .storable),
        Row(["Last-Modified: \(CacheSamples.date(-1))"], .storable),
        Row(["Cache-Control: max-age=0"], .refused(.notReusable)),
        Row(["Cache-Control: max-age=0", "ETag: \"a\""], .storable),
        Row(["Cache-Control: s-maxage=60"], .refused(.notReusable), shared: .storable),
        // RFC 5861, sections 3 and 4
        Row(["Cache-Control: max-age=0, stale-while-revalidate=60"], .storable),
        Row(["Cache-Control: max-age=0, stale-if-error=60"], .storable),
        Row(["Cache-Control: max-age=0, stale-while-revalidate=0"], .refused(.notReusable)),
        // 3: any final status with explicit freshness.
        Row([fresh], .storable, status: 299), Row([fresh], .storable, status: 302),
        Row([fresh], .storable, status: 500),
        Row([fresh], .storable, status: 599), Row([fresh], .refused(.notReusable), status: 304),
        Row(["ETag: \"a\""], .refused(.notReusable), status: 302), Row(["ETag: \"a\""], .storable, status: 404),
        Row(["ETag: \"a\"", "Cache-Control: public"], .storable, status: 302),
        Row(["ETag: \"a\"", "Cache-Control: private"], .storable, shared: .refused(.private), status: 302),
        // 5.2.1.5, 5.2.2.5
        Row([fresh], .refused(.requestNoStore), request: ["Cache-Control: no-store"]),
        Row(["Cache-Control: max-age=60, no-store"], .refused(.noStore)),
        Row(["Cache-Control: no-store", "ETag: \"a\""], .refused(.noStore)),
        // 5.2.2.3
        Row(["Cache-Control: max-age=60, must-understand, no-store"], .storable),
        Row(["Cache-Control: max-age=60, must-understand"], .refused(.unknownStatus), status: 299),
        // 5.2.2.7
        Row(["Cache-Control: max-age=60, private"], .storable, shared: .refused(.private)),
        Row(["Cache-Control: max-age=60, private=\"Set-Cookie\""], .storable, shared: .refused(.private)),
        // 3.5
        Row([fresh], .storable, shared: .refused(.authorization), request: ["Authorization: Basic YTpi"]),
        Row(["Cache-Control: max-age=60, public"], .storable, request: ["Authorization: Basic YTpi"]),
        Row(["Cache-Control: max-age=60, must-revalidate"], .storable, request: ["Authorization: Basic YTpi"]),
        Row(["Cache-Control: s-maxage=60", "ETag: \"a\""], .storable, request: ["Authorization: Basic YTpi"]),
        // 4.1
        Row([fresh, "Vary: *"], .refused(.varyAny)), Row([fresh, "Vary: Accept", "Vary: *"], .refused(.varyAny)),
        Row([fresh, "Vary: Accept, *"], .refused(.varyAny)), Row([fresh, "Vary: a b"], .refused(.varyAny)),
        Row([fresh, "Vary: "], .storable),
        // RFC 9110, section 9.3: methods.
        Row([fresh], .refused(.method), method: "HEAD"), Row([fresh], .refused(.method), method: "PUT"),
        Row([fresh], .refused(.method), method: "M-SEARCH"), Row([fresh], .storable, method: "POST"),
        Row(["ETag: \"a\""], .refused(.method), method: "POST"),
        // 3.3
        Row([fresh, range, "ETag: \"a\""], .storable, status: 206), Row([fresh, range], .refused(.range), status: 206),
        Row([fresh, range, "ETag: W/\"a\""], .refused(.range), status: 206),
        Row([fresh, "ETag: \"a\""], .refused(.range), status: 206),
        Row([fresh, "Content-Range: bytes 0-4/*", "ETag: \"a\""], .refused(.range), status: 206),
        // 3.2: cookies of a response do not matter.
        Row([fresh, "Set-Cookie: a=b"], .storable),
    ]

    @Test(arguments: rows)
    func theDecisionIsAsInTheRFC(_ row: Row) throws {
        let head = CacheSamples.head(row.lines, status: row.status)
        let method = try #require(HTTPRequest.Method(row.method))
        let request = CacheRequestFields(CacheSamples.fields(row.request))
        func decision(_ policy: CachePolicy) -> CacheStorability {
            CacheStorability.decision(
                CacheFacts(CachedHead(head, request: request.headers), policy), to: method, request)
        }
        #expect(decision(CachePolicy()) == row.own)
        #expect(decision(CachePolicy(sharing: .shared)) == row.shared)
    }

    // MARK: Vary

    /// 4.1: equal fields, or those that differ in what makes no difference; the preferences are those of RFC 9110, section 12.5.
    static let selections: [(vary: [String], first: [String], second: [String], Bool)] = [
        (["Vary: Accept"], ["Accept: a"], ["Accept: a"], true), (["Vary: Accept"], ["Accept: a"], ["Accept: b"], false),
        (["Vary: Accept"], ["Accept: a"], [], false), (["Vary: Accept"], [], ["Accept: "], false),
        (["Vary: Accept"], [], ["Other: a"], true), (["vary: ACCEPT"], ["Accept: a"], ["accept: a"], true),
        (["Vary: Accept, X"], ["Accept: a", "X: 1"], ["Accept: a", "X: 2"], false),
        (["Vary: Accept", "Vary: X"], ["Accept: a", "X: 1"], ["Accept: a", "X: 2"], false),
        (["Vary: X"], ["X: a", "X: b"], ["X: a,b"], true), (["Vary: X"], ["X: a , b"], ["X: a,b"], true),
        (["Vary: X"], ["X: a, b"], ["X: b, a"], false), (["Vary: X"], ["X: a"], ["X: A"], false),
        (["Vary: X"], ["X: \"a, b\""], ["X: \"a,b\""], false),
        (["Vary: Accept-Language"], ["Accept-Language: en, DE;q=0.5"], ["Accept-Language: de;q=0.5,EN"], true),
        (["Vary: Accept-Language"], ["Accept-Language: en"], ["Accept-Language: en, de"], false),
        (["Vary: Accept-Language"], ["Accept-Language: en;q=0.5"], ["Accept-Language: en; q=0.5"], true),
        (["Vary: X"], ["X: \u{E9}"], ["X: e\u{301}"], false), (["Vary: "], ["X: a"], ["X: b"], true),
    ]

    @Test(arguments: selections)
    func aSelectionMatchesEquivalentRequests(
        _ vary: [String], _ first: [String], _ second: [String], _ isMatch: Bool
    ) throws {
        let selection = VarySelection(of: CacheSamples.fields(vary), request: CacheSamples.fields(first))
        #expect(try #require(selection).matches(CacheSamples.fields(second)) == isMatch)
        #expect(try #require(selection).matches(CacheSamples.fields(first)))
    }
}
