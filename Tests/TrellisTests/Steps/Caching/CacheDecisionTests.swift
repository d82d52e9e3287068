import HTTPTypes
import Testing

@testable import Trellis

/// The decision about a request that has a cache.
struct CacheDecisionTests {
    /// A request some time after the reception of a stored response, and the decision.
    struct Row: Sendable, CustomTestStringConvertible {
        /// The decision in short.
        enum Outcome: Equatable {
            case use
            case notModified
            /// Used, and validated afterwards.
            case background
            case forward(CacheStatus.ForwardReason)
            /// Forwarded with the validators of the stored response.
            case validate(CacheStatus.ForwardReason)
            case unsatisfiable
        }

        let stored: [String]
        let request: [String]
        let after: Double
        let outcome: Outcome
        var mode = CacheMode.default
        var method = HTTPRequest.Method.get
        var sharing = CachePolicy.Sharing.private
        var status = 200
        var testDescription: String { "\(method) \(request) \(mode) after \(after) s of \(stored), \(sharing)" }

        init(
            _ stored: [String], _ request: [String] = [], after: Double, _ outcome: Outcome, mode: CacheMode = .default,
            method: HTTPRequest.Method = .get, sharing: CachePolicy.Sharing = .private, status: Int = 200
        ) {
            (self.stored, self.request, self.after, self.outcome) = (stored, request, after, outcome)
            (self.mode, self.method, self.sharing, self.status) = (mode, method, sharing, status)
        }
    }

    private static let tag = "ETag: \"a\""
    private static let minute = "Cache-Control: max-age=60"
    private static let modified = "Last-Modified: \(CacheSamples.date(-100))"

    private static func control(_ directives: String) -> String { "Cache-Control: \(directives)" }

    /// The sections are those of RFC 9111.
    static let rows: [Row] = [
        // 4.2: fresh while the age is less than the lifetime.
        Row([minute], after: 59.9, .use), Row([minute, tag], after: 60, .validate(.stale)),
        Row([minute], after: 61, .forward(.stale)), Row([minute], after: 59, .use, method: .head),
        Row([minute, "Age: 55"], after: 6, .forward(.stale)), Row([minute, modified], after: 61, .validate(.stale)),
        Row([minute], after: -100, .forward(.stale)),
        // 4: a method with another meaning.
        Row([minute], after: 1, .forward(.method), method: .post),
        Row([minute], after: 1, .forward(.method), method: .put),
        // 5.2.2.4: no use without validation.
        Row([control("max-age=60, no-cache"), tag], after: 1, .validate(.request)),
        Row([control("max-age=60, no-cache=\"Set-Cookie\""), tag], after: 1, .validate(.request)),
        Row([control("max-age=60, no-cache"), tag], after: 1, .validate(.request), mode: .forceCache),
        // 5.2.1: the demands of the request.
        Row([minute, tag], [control("no-cache")], after: 1, .validate(.request)),
        Row([minute, tag], ["Pragma: no-cache"], after: 1, .validate(.request)),
        Row([minute, tag], ["Pragma: no-cache", control("max-age=30")], after: 1, .use),
        Row([minute, tag], [control("max-age=0")], after: 1, .validate(.request)),
        Row([minute, tag], [control("max-age=10")], after: 10, .use),
        Row([minute, tag], [control("max-age=10")], after: 11, .validate(.request)),
        Row([minute, tag], [control("max-age=x")], after: 1, .validate(.request)),
        Row([minute, tag], [control("min-fresh=10")], after: 50, .use),
        Row([minute, tag], [control("min-fresh=10")], after: 51, .validate(.request)),
        Row([minute], [control("max-stale")], after: 1000, .use),
        Row([minute], [control("max-stale=10")], after: 70, .use),
        Row([minute], [control("max-stale=10")], after: 71, .forward(.stale)),
        Row([minute], [control("max-stale=x")], after: 61, .forward(.stale)),
        Row([minute], [control("max-stale=\"")], after: 61, .forward(.stale)),
        Row([minute], [control("only-if-cached")], after: 1, .use),
        Row([minute], [control("only-if-cached")], after: 61, .unsatisfiable),
        Row([minute], [control("only-if-cached, max-stale")], after: 61, .use),
        Row([minute], [control("surprise=1")], after: 1, .use),
        // 4.2.4: never stale.
        Row([control("max-age=60, must-revalidate"), tag], [control("max-stale")], after: 61, .validate(.stale)),
        Row([control("max-age=60, must-revalidate"), tag], after: 61, .validate(.stale), mode: .forceCache),
        Row([control("max-age=60, proxy-revalidate")], [control("max-stale")], after: 61, .use),
        Row(
            [control("max-age=60, proxy-revalidate")], [control("max-stale")], after: 61, .forward(.stale),
            sharing: .shared),
        Row([control("s-maxage=60")], [control("max-stale")], after: 61, .forward(.stale), sharing: .shared),
        // RFC 5861, section 3
        Row([control("max-age=60, stale-while-revalidate=10"), tag], after: 69, .background),
        Row([control("max-age=60, stale-while-revalidate=10"), tag], after: 70, .validate(.stale)),
        Row([control("max-age=60, stale-while-revalidate=10, must-revalidate")], after: 61, .forward(.stale)),
        Row(
            [control("max-age=60, stale-while-revalidate=10"), tag], [control("max-age=65")], after: 62,
            .validate(.stale)),
        Row([control("max-age=60, stale-while-revalidate=x"), tag], after: 61, .validate(.stale)),
        // The modes of the Fetch standard, which 4, 5.2.1.5 and 5.2.1.7 allow.
        Row([minute], after: 1, .forward(.bypass), mode: .noStore),
        Row([minute, tag], after: 1, .forward(.bypass), mode: .reload),
        Row([minute, tag], after: 1, .validate(.request), mode: .noCache),
        Row([minute], after: 1000, .use, mode: .forceCache),
        Row([minute], after: 1000, .use, mode: .onlyIfCached),
        Row([control("max-age=60, no-cache")], after: 1, .unsatisfiable, mode: .onlyIfCached),
        Row([minute], after: 1, .unsatisfiable, mode: .onlyIfCached, method: .post),
        // RFC 8246, section 2
        Row([control("max-age=60, immutable"), tag], after: 1, .use, mode: .noCache),
        Row([control("max-age=60, immutable"), tag], after: 61, .validate(.stale), mode: .noCache),
        // 4.1: another field that Vary names.
        Row([minute, "Vary: X"], ["X: 1"], after: 1, .forward(.varyMiss)),
        // 4.3.2: the conditions of the request.
        Row([minute, tag], ["If-None-Match: \"a\""], after: 1, .notModified),
        Row([minute, tag], ["If-None-Match: \"b\", W/\"a\""], after: 1, .notModified),
        Row([minute, tag], ["If-None-Match: *"], after: 1, .notModified),
        Row([minute, tag], ["If-None-Match: \"b\""], after: 1, .use),
        Row([minute], ["If-None-Match: \"a\""], after: 1, .use),
        Row([minute, tag], ["If-None-Match: a"], after: 1, .use),
        Row([minute, "ETag: W/\"a\""], ["If-None-Match: \"a\""], after: 1, .notModified),
        Row([minute, modified], ["If-Modified-Since: \(CacheSamples.date(-100))"], after: 1, .notModified),
        Row([minute, modified], ["If-Modified-Since: \(CacheSamples.date(-101))"], after: 1, .use),
        Row([minute, modified], ["If-Modified-Since: x"], after: 1, .use),
        Row([minute], ["If-Modified-Since: \(CacheSamples.date(0))"], after: 1, .notModified),
        Row(
            [minute, tag, modified], ["If-None-Match: \"b\"", "If-Modified-Since: \(CacheSamples.date(0))"], after: 1,
            .use),
        Row([minute, tag], ["If-None-Match: \"a\""], after: 61, .validate(.stale)),
        Row([minute, tag], ["If-None-Match: \"a\""], after: 1, .use, status: 404),
        Row([minute, tag], ["If-None-Match: \"a\""], after: 1, .notModified, status: 206),
        Row([minute, tag], ["If-Match: \"a\""], after: 1, .forward(.request)),
        Row([minute, tag], ["If-Unmodified-Since: \(CacheSamples.date(0))"], after: 1, .forward(.request)),
    ]

    @Test(arguments: rows)
    func theDecisionIsAsInTheRFC(_ row: Row) {
        let head = CacheSamples.head(row.stored, status: row.status)
        let facts = CacheSamples.facts(head, CachePolicy(sharing: row.sharing))
        let decision = CacheDecision.decision(
            for: CacheSamples.asked(row.request, method: row.method, mode: row.mode),
            [.init(facts: facts, length: 10)], at: CacheSamples.time(row.after))
        let outcome: Row.Outcome =
            switch decision {
            case .use(let use): use.isValidatedAfterwards ? .background : use.isNotModified ? .notModified : .use
            case .forward(let reason, validating: nil): .forward(reason)
            case .forward(let reason, validating: _): .validate(reason)
            case .complete: .forward(.partial)
            case .unsatisfiable: .unsatisfiable
            }
        #expect(outcome == row.outcome)
    }

    @Test func theAgeAndTheRestOfTheLifetimeAreTold() {
        let head = CacheSamples.head([Self.minute, "Age: 10"])
        func use(_ after: Double, _ mode: CacheMode = .default) -> CacheDecision {
            CacheDecision.decision(
                for: CacheSamples.asked([], mode: mode), [.init(facts: CacheSamples.facts(head), length: 10)],
                at: CacheSamples.time(after))
        }
        #expect(use(2.5) == .use(.init(index: 0, age: 12, timeToLive: 48)))
        #expect(use(55, .forceCache) == .use(.init(index: 0, age: 65, timeToLive: -5)))
    }

    /// RFC 9111, section 3.4, and RFC 9110, section 14. The representation has ten bytes.
    static let ranges: [([String], part: Range<Int64>?, RangeOutcome)] = [
        ([], nil, .whole), (["Range: bytes=0-4"], nil, .bytes(0..<5)), (["Range: bytes=8-"], nil, .bytes(8..<10)),
        (["Range: bytes=8-100"], nil, .bytes(8..<10)), (["Range: bytes=-3"], nil, .bytes(7..<10)),
        (["Range: bytes=-30"], nil, .bytes(0..<10)), (["Range: BYTES=1-2"], nil, .bytes(1..<3)),
        (["Range: bytes=10-"], nil, .forward(.request)), (["Range: bytes=-0"], nil, .forward(.request)),
        (["Range: bytes=0-1,3-4"], nil, .whole), (["Range: bytes=4-3"], nil, .whole),
        (["Range: lines=1-2"], nil, .whole),
        (["Range: bytes=x-2"], nil, .whole), (["Range: bytes=-"], nil, .whole), (["Range: bytes=1-2-3"], nil, .whole),
        (["Range: bytes=0-4", "If-Range: \"a\""], nil, .bytes(0..<5)),
        (["Range: bytes=0-4", "If-Range: \"b\""], nil, .whole),
        (["Range: bytes=0-4", "If-Range: \(CacheSamples.date(0))"], nil, .whole),
        ([], 2..<6, .forward(.partial)), (["Range: bytes=2-5"], 2..<6, .bytes(2..<6)),
        (["Range: bytes=3-4"], 2..<6, .bytes(3..<5)), (["Range: bytes=3-6"], 2..<6, .complete(6..<7)),
        (["Range: bytes=0-3"], 2..<6, .complete(0..<2)), (["Range: bytes=-4"], 6..<10, .bytes(6..<10)),
        (["Range: bytes=-5"], 6..<10, .complete(5..<6)), (["Range: bytes=0-1,3-4"], 2..<6, .forward(.partial)),
        ([], 0..<6, .complete(6..<10)), ([], 1..<10, .complete(0..<1)),
        (["Range: bytes=3-"], 0..<6, .complete(6..<10)), (["Range: bytes=-30"], 2..<10, .complete(0..<2)),
        // No byte that is asked for is stored, or bytes at both ends are missing.
        (["Range: bytes=6-7"], 2..<6, .forward(.partial)), (["Range: bytes=0-1"], 2..<6, .forward(.partial)),
        (["Range: bytes=1-8"], 2..<6, .forward(.partial)),
        // The caller's own conditions.
        (["Range: bytes=3-6", "If-Range: \"a\""], 2..<6, .complete(6..<7)),
        (["Range: bytes=3-6", "If-Range: \"b\""], 2..<6, .forward(.partial)),
        (["If-None-Match: \"b\""], 0..<6, .forward(.partial)),
    ]

    /// The decision about a range in short.
    enum RangeOutcome: Equatable, Sendable {
        case whole
        case bytes(Range<Int64>)
        case forward(CacheStatus.ForwardReason)
        /// These bytes are requested.
        case complete(Range<Int64>)
    }

    @Test(arguments: ranges)
    func aRangeIsCutFromWhatIsStored(_ request: [String], _ part: Range<Int64>?, _ outcome: RangeOutcome) {
        let head = CacheSamples.head([Self.minute, Self.tag], status: part == nil ? 200 : 206)
        let decision = CacheDecision.decision(
            for: CacheSamples.asked(request), [.init(facts: CacheSamples.facts(head), length: 10, part: part)],
            at: CacheSamples.time(1))
        switch decision {
        case .use(let use): #expect(outcome == use.range.map { .bytes($0) } ?? .whole)
        case .forward(let reason, validating: nil): #expect(outcome == .forward(reason))
        case .complete(let completion): #expect(outcome == .complete(completion.missing))
        case .forward, .unsatisfiable: Issue.record("\(decision)")
        }
    }

    /// RFC 9111, section 4.3.1: a part, fresh or stale, is validated for bytes that it has. The representation has ten bytes.
    @Test(
        arguments: [
            (["Range: bytes=2-5"], 2..<6, .forward(.stale, validating: 0)),
            ([], 0..<10, .forward(.stale, validating: 0)), ([], 2..<6, .forward(.partial, validating: nil)),
            (["Range: bytes=10-"], 2..<6, .forward(.request, validating: nil)),
            (["Range: bytes=2-5", "If-Range: \"b\""], 2..<6, .forward(.partial, validating: nil)),
        ] as [([String], Range<Int64>, CacheDecision)])
    func aStalePartIsValidatedForItsBytes(_ request: [String], _ part: Range<Int64>, _ expected: CacheDecision) {
        let head = CacheSamples.head([Self.minute, Self.tag], status: 206)
        let decision = CacheDecision.decision(
            for: CacheSamples.asked(request), [.init(facts: CacheSamples.facts(head), length: 10, part: part)],
            at: CacheSamples.time(61))
        #expect(decision == expected)
    }

    @Test func theLatestOfSeveralIsUsed() {
        let heads = ([-20, -10, -30] as [Int64]).map {
            CacheSamples.head([Self.minute, "Date: \(CacheSamples.date($0))"])
        }
        let candidates = heads.map { CacheDecision.Candidate(facts: CacheSamples.facts($0), length: 10) }
        let decision = CacheDecision.decision(for: CacheSamples.asked([]), candidates, at: CacheSamples.time(1))
        #expect(decision == .use(.init(index: 1, age: 11, timeToLive: 49)))
    }

    @Test func nothingStoredIsAMiss() {
        func decision(_ mode: CacheMode) -> CacheDecision {
            CacheDecision.decision(for: CacheSamples.asked([], mode: mode), [], at: CacheSamples.start)
        }
        #expect(decision(.default) == .forward(.uriMiss, validating: nil))
        #expect(decision(.forceCache) == .forward(.uriMiss, validating: nil))
        #expect(decision(.onlyIfCached) == .unsatisfiable)
    }
}
