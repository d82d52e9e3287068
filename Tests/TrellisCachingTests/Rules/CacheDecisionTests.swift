import HTTPTypes
import TestSupport
import Testing

@testable import TrellisCaching
@testable import TrellisCore

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

        let section: RFCSection
        let stored: [String]
        let request: [String]
        let after: Double
        let outcome: Outcome
        var mode = CacheMode.default
        var method = HTTPRequest.Method.get
        var sharing = CachePolicy.Sharing.private
        var status = 200
        var testDescription: String {
            "\(section): \(method) \(request) \(mode) after \(after) s of \(stored), \(sharing)"
        }

        init(
            _ section: RFCSection, _ stored: [String], _ request: [String] = [], after: Double, _ outcome: Outcome,
            mode: CacheMode = .default,
            method: HTTPRequest.Method = .get, sharing: CachePolicy.Sharing = .private, status: Int = 200
        ) {
            self.section = section
            (self.stored, self.request, self.after, self.outcome) = (stored, request, after, outcome)
            (self.mode, self.method, self.sharing, self.status) = (mode, method, sharing, status)
        }
    }

    private static let tag = "ETag: \"a\""
    private static let minute = "Cache-Control: max-age=60"
    private static let modified = "Last-Modified: \(CacheSamples.date(-100))"

    private static func control(_ directives: String) -> String { "Cache-Control: \(directives)" }

    static let rows: [Row] = [
        // Fresh while the age is less than the lifetime.
        Row(.rfc9111("4.2"), [minute], after: 59.9, .use),
        Row(.rfc9111("4.3.1"), [minute, tag], after: 60, .validate(.stale)),
        Row(.rfc9111("4.2"), [minute], after: 61, .forward(.stale)),
        Row(.rfc9110("9.3.1"), [minute], after: 59, .use, method: .head),
        Row(.rfc9111("4.2.3"), [minute, "Age: 55"], after: 6, .forward(.stale)),
        Row(.rfc9111("4.3.1"), [minute, modified], after: 61, .validate(.stale)),
        Row(.rfc9111("4.2.3"), [minute], after: -100, .forward(.stale)),
        // A method with another meaning.
        Row(.rfc9111("4"), [minute], after: 1, .forward(.method), method: .post),
        Row(.rfc9111("4"), [minute], after: 1, .forward(.method), method: .put),
        // No use without validation.
        Row(.rfc9111("5.2.2.4"), [control("max-age=60, no-cache"), tag], after: 1, .validate(.request)),
        Row(.rfc9111("5.2.2.4"), [control("max-age=60, no-cache=\"Set-Cookie\""), tag], after: 1, .validate(.request)),
        Row(
            .rfc9111("5.2.2.4"), [control("max-age=60, no-cache"), tag], after: 1, .validate(.request),
            mode: .forceCache),
        // The demands of the request.
        Row(.rfc9111("5.2.1.4"), [minute, tag], [control("no-cache")], after: 1, .validate(.request)),
        Row(.rfc9111("5.4"), [minute, tag], ["Pragma: no-cache"], after: 1, .validate(.request)),
        Row(.rfc9111("5.4"), [minute, tag], ["Pragma: no-cache", control("max-age=30")], after: 1, .use),
        Row(.rfc9111("5.2.1.1"), [minute, tag], [control("max-age=0")], after: 1, .validate(.request)),
        Row(.rfc9111("5.2.1.1"), [minute, tag], [control("max-age=10")], after: 10, .use),
        Row(.rfc9111("5.2.1.1"), [minute, tag], [control("max-age=10")], after: 11, .validate(.request)),
        Row(.rfc9111("5.2.1.1"), [minute, tag], [control("max-age=x")], after: 1, .validate(.request)),
        Row(.rfc9111("5.2.1.3"), [minute, tag], [control("min-fresh=10")], after: 50, .use),
        Row(.rfc9111("5.2.1.3"), [minute, tag], [control("min-fresh=10")], after: 51, .validate(.request)),
        Row(.rfc9111("5.2.1.2"), [minute], [control("max-stale")], after: 1000, .use),
        Row(.rfc9111("5.2.1.2"), [minute], [control("max-stale=10")], after: 70, .use),
        Row(.rfc9111("5.2.1.2"), [minute], [control("max-stale=10")], after: 71, .forward(.stale)),
        Row(.rfc9111("5.2.1.2"), [minute], [control("max-stale=x")], after: 61, .forward(.stale)),
        Row(.rfc9111("5.2.1.2"), [minute], [control("max-stale=\"")], after: 61, .forward(.stale)),
        Row(.rfc9111("5.2.1.7"), [minute], [control("only-if-cached")], after: 1, .use),
        Row(.rfc9111("5.2.1.7"), [minute], [control("only-if-cached")], after: 61, .unsatisfiable),
        Row(.rfc9111("5.2.1.7"), [minute], [control("only-if-cached, max-stale")], after: 61, .use),
        Row(.rfc9111("5.2.1.7"), [minute], [control("only-if-cached")], after: 1, .unsatisfiable, method: .post),
        Row(.rfc9111("5.2.1.7"), [minute], [control("only-if-cached")], after: 1, .unsatisfiable, mode: .reload),
        Row(
            .rfc9111("5.2.1.7"), [control("max-age=60, stale-while-revalidate=10"), tag], [control("only-if-cached")],
            after: 61, .use),
        Row(.rfc9111("5.2.3"), [minute], [control("surprise=1")], after: 1, .use),
        // Never stale.
        Row(
            .rfc9111("5.2.2.2"), [control("max-age=60, must-revalidate"), tag], [control("max-stale")], after: 61,
            .validate(.stale)),
        Row(
            .rfc9111("5.2.2.2"), [control("max-age=60, must-revalidate"), tag], after: 61, .validate(.stale),
            mode: .forceCache),
        Row(.rfc9111("5.2.2.8"), [control("max-age=60, proxy-revalidate")], [control("max-stale")], after: 61, .use),
        Row(
            .rfc9111("5.2.2.8"),
            [control("max-age=60, proxy-revalidate")], [control("max-stale")], after: 61, .forward(.stale),
            sharing: .shared),
        Row(
            .rfc9111("5.2.2.10"), [control("s-maxage=60")], [control("max-stale")], after: 61, .forward(.stale),
            sharing: .shared),
        // Stale while the response is validated.
        Row(.rfc5861("3"), [control("max-age=60, stale-while-revalidate=10"), tag], after: 69, .background),
        Row(.rfc5861("3"), [control("max-age=60, stale-while-revalidate=10"), tag], after: 70, .validate(.stale)),
        Row(
            .rfc9111("5.2.2.2"), [control("max-age=60, stale-while-revalidate=10, must-revalidate")], after: 61,
            .forward(.stale)),
        Row(
            .rfc9111("5.2.1.1"),
            [control("max-age=60, stale-while-revalidate=10"), tag], [control("max-age=65")], after: 62,
            .validate(.stale)),
        Row(.rfc5861("3"), [control("max-age=60, stale-while-revalidate=x"), tag], after: 61, .validate(.stale)),
        // The modes of the Fetch standard, each with the directive of a request that it is like.
        Row(.rfc9111("5.2.1.5"), [minute], after: 1, .forward(.bypass), mode: .noStore),
        Row(.rfc9111("5.2.1.4"), [minute, tag], after: 1, .forward(.bypass), mode: .reload),
        Row(.rfc9111("5.2.1.4"), [minute, tag], after: 1, .validate(.request), mode: .noCache),
        Row(.rfc9111("5.2.1.2"), [minute], after: 1000, .use, mode: .forceCache),
        Row(.rfc9111("5.2.1.7"), [minute], after: 1000, .use, mode: .onlyIfCached),
        Row(.rfc9111("5.2.2.4"), [control("max-age=60, no-cache")], after: 1, .unsatisfiable, mode: .onlyIfCached),
        Row(.rfc9111("5.2.1.7"), [minute], after: 1, .unsatisfiable, mode: .onlyIfCached, method: .post),
        // Immutable responses.
        Row(.rfc8246("2"), [control("max-age=60, immutable"), tag], after: 1, .use, mode: .noCache),
        Row(.rfc8246("2"), [control("max-age=60, immutable"), tag], after: 61, .validate(.stale), mode: .noCache),
        // Another field that Vary names.
        Row(.rfc9111("4.1"), [minute, "Vary: X"], ["X: 1"], after: 1, .forward(.varyMiss)),
        // The conditions of the request.
        Row(.rfc9111("4.3.2"), [minute, tag], ["If-None-Match: \"a\""], after: 1, .notModified),
        Row(.rfc9110("8.8.3.2"), [minute, tag], ["If-None-Match: \"b\", W/\"a\""], after: 1, .notModified),
        Row(.rfc9110("13.1.2"), [minute, tag], ["If-None-Match: *"], after: 1, .notModified),
        Row(.rfc9111("4.3.2"), [minute, tag], ["If-None-Match: \"b\""], after: 1, .use),
        Row(.rfc9111("4.3.2"), [minute], ["If-None-Match: \"a\""], after: 1, .use),
        Row(.rfc9110("8.8.3"), [minute, tag], ["If-None-Match: a"], after: 1, .use),
        Row(.rfc9110("8.8.3.2"), [minute, "ETag: W/\"a\""], ["If-None-Match: \"a\""], after: 1, .notModified),
        Row(
            .rfc9111("4.3.2"), [minute, modified], ["If-Modified-Since: \(CacheSamples.date(-100))"], after: 1,
            .notModified),
        Row(.rfc9111("4.3.2"), [minute, modified], ["If-Modified-Since: \(CacheSamples.date(-101))"], after: 1, .use),
        Row(.rfc9110("13.1.3"), [minute, modified], ["If-Modified-Since: x"], after: 1, .use),
        Row(.rfc9111("4.3.2"), [minute], ["If-Modified-Since: \(CacheSamples.date(0))"], after: 1, .notModified),
        Row(
            .rfc9110("13.2.2"),
            [minute, tag, modified], ["If-None-Match: \"b\"", "If-Modified-Since: \(CacheSamples.date(0))"], after: 1,
            .use),
        Row(.rfc9111("4.3.1"), [minute, tag], ["If-None-Match: \"a\""], after: 61, .validate(.stale)),
        Row(.rfc9111("4.3.2"), [minute, tag], ["If-None-Match: \"a\""], after: 1, .use, status: 404),
        Row(.rfc9111("4.3.2"), [minute, tag], ["If-None-Match: \"a\""], after: 1, .notModified, status: 206),
        Row(.rfc9111("4.3.2"), [minute, tag], ["If-Match: \"a\""], after: 1, .forward(.request)),
        Row(
            .rfc9111("4.3.2"), [minute, tag], ["If-Unmodified-Since: \(CacheSamples.date(0))"], after: 1,
            .forward(.request)),
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

    /// The representation has ten bytes.
    static let ranges: [(RFCSection, [String], part: Range<Int64>?, RangeOutcome)] = [
        (.rfc9111("4"), [], nil, .whole), (.rfc9110("14.1.2"), ["Range: bytes=0-4"], nil, .bytes(0..<5)),
        (.rfc9110("14.1.2"), ["Range: bytes=8-"], nil, .bytes(8..<10)),
        (.rfc9110("14.1.2"), ["Range: bytes=8-100"], nil, .bytes(8..<10)),
        (.rfc9110("14.1.2"), ["Range: bytes=-3"], nil, .bytes(7..<10)),
        (.rfc9110("14.1.2"), ["Range: bytes=-30"], nil, .bytes(0..<10)),
        (.rfc9110("14.1"), ["Range: BYTES=1-2"], nil, .bytes(1..<3)),
        (.rfc9110("15.5.17"), ["Range: bytes=10-"], nil, .forward(.request)),
        (.rfc9110("15.5.17"), ["Range: bytes=-0"], nil, .forward(.request)),
        (.rfc9110("14.2"), ["Range: bytes=0-1,3-4"], nil, .whole),
        (.rfc9110("14.1.1"), ["Range: bytes=4-3"], nil, .whole),
        (.rfc9110("14.2"), ["Range: lines=1-2"], nil, .whole),
        (.rfc9110("14.1.1"), ["Range: bytes=x-2"], nil, .whole), (.rfc9110("14.1.1"), ["Range: bytes=-"], nil, .whole),
        (.rfc9110("14.1.1"), ["Range: bytes=1-2-3"], nil, .whole),
        (.rfc9110("13.1.5"), ["Range: bytes=0-4", "If-Range: \"a\""], nil, .bytes(0..<5)),
        (.rfc9110("13.1.5"), ["Range: bytes=0-4", "If-Range: \"b\""], nil, .whole),
        (.rfc9110("13.1.5"), ["Range: bytes=0-4", "If-Range: \(CacheSamples.date(0))"], nil, .whole),
        (.rfc9111("3.3"), [], 2..<6, .forward(.partial)), (.rfc9111("3.3"), ["Range: bytes=2-5"], 2..<6, .bytes(2..<6)),
        (.rfc9111("3.3"), ["Range: bytes=3-4"], 2..<6, .bytes(3..<5)),
        (.rfc9111("3.4"), ["Range: bytes=3-6"], 2..<6, .forward(.partial)),
        (.rfc9111("3.4"), ["Range: bytes=0-3"], 2..<6, .forward(.partial)),
        (.rfc9111("3.3"), ["Range: bytes=-4"], 6..<10, .bytes(6..<10)),
        (.rfc9111("3.4"), ["Range: bytes=-5"], 6..<10, .forward(.partial)),
        (.rfc9111("3.3"), ["Range: bytes=0-1,3-4"], 2..<6, .forward(.partial)),
        (.rfc9111("3.4"), [], 0..<6, .forward(.partial)), (.rfc9111("3.4"), [], 1..<10, .forward(.partial)),
        (.rfc9111("3.4"), ["Range: bytes=3-"], 0..<6, .forward(.partial)),
        (.rfc9111("3.4"), ["Range: bytes=-30"], 2..<10, .forward(.partial)),
        (.rfc9111("3.4"), ["Range: bytes=0-"], 2..<8, .forward(.partial)),
        // No byte that is asked for is stored, or bytes at both ends are missing.
        (.rfc9111("3.3"), ["Range: bytes=6-7"], 2..<6, .forward(.partial)),
        (.rfc9111("3.3"), ["Range: bytes=0-1"], 2..<6, .forward(.partial)),
        (.rfc9111("3.4"), ["Range: bytes=1-8"], 2..<6, .forward(.partial)),
        // The caller's own conditions.
        (.rfc9110("13.1.5"), ["Range: bytes=3-6", "If-Range: \"a\""], 2..<6, .forward(.partial)),
        (.rfc9110("13.1.5"), ["Range: bytes=3-6", "If-Range: \"b\""], 2..<6, .forward(.partial)),
        (.rfc9111("3.4"), ["If-None-Match: \"b\""], 0..<6, .forward(.partial)),
    ]

    /// The decision about a range in short.
    enum RangeOutcome: Equatable, Sendable {
        case whole
        case bytes(Range<Int64>)
        case forward(CacheStatus.ForwardReason)
    }

    @Test(arguments: ranges)
    func aRangeIsCutFromWhatIsStored(
        _ section: RFCSection, _ request: [String], _ part: Range<Int64>?, _ outcome: RangeOutcome
    ) {
        let head = CacheSamples.head([Self.minute, Self.tag], status: part == nil ? 200 : 206)
        let decision = CacheDecision.decision(
            for: CacheSamples.asked(request), [.init(facts: CacheSamples.facts(head), length: 10, part: part)],
            at: CacheSamples.time(1))
        switch decision {
        case .use(let use): #expect(outcome == use.range.map { .bytes($0) } ?? .whole)
        case .forward(let reason, validating: nil): #expect(outcome == .forward(reason))
        case .forward, .unsatisfiable: Issue.record("\(decision)")
        }
    }

    /// A part, fresh or stale, is validated for bytes that it has. The representation has ten bytes.
    @Test(
        arguments: [
            (.rfc9111("4.3.1"), ["Range: bytes=2-5"], 2..<6, .forward(.stale, validating: 0)),
            (.rfc9111("4.3.1"), [], 0..<10, .forward(.stale, validating: 0)),
            (.rfc9111("3.3"), [], 2..<6, .forward(.partial, validating: nil)),
            (.rfc9110("15.5.17"), ["Range: bytes=10-"], 2..<6, .forward(.request, validating: nil)),
            (.rfc9110("13.1.5"), ["Range: bytes=2-5", "If-Range: \"b\""], 2..<6, .forward(.partial, validating: nil)),
        ] as [(RFCSection, [String], Range<Int64>, CacheDecision)])
    func aStalePartIsValidatedForItsBytes(
        _ section: RFCSection, _ request: [String], _ part: Range<Int64>, _ expected: CacheDecision
    ) {
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
