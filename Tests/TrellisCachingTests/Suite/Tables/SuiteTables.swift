@testable import TrellisCaching
@testable import TrellisCore

/// The cases of the suite by its files.
enum SuiteTables {
    /// A file of the suite.
    struct File: Sendable {
        let name: String
        /// The section that the cases are about, most of them.
        let section: RFCSection
        /// The number of cases that the table has.
        let count: Int
        let cases: [SuiteCase]
    }

    static let files: [File] = [
        File(name: "age-parse", section: .rfc9111("5.1"), count: 15, cases: ageParse),
        File(name: "authorization", section: .rfc9111("3.5"), count: 4, cases: authorization),
        File(name: "cc-request", section: .rfc9111("5.2.1"), count: 12, cases: requestDirectives),
        File(name: "cc-response", section: .rfc9111("5.2.2"), count: 17, cases: responseDirectives),
        File(name: "cc-stale", section: .rfc9111("4.2.4"), count: 5, cases: staleDirectives),
        File(name: "conditional-etag", section: .rfc9111("4.3.2"), count: 21, cases: entityTags),
        File(name: "conditional-lm", section: .rfc9111("4.3.2"), count: 5, cases: lastModified),
        File(name: "expires-freshness", section: .rfc9111("5.3"), count: 8, cases: expiresFreshness),
        File(name: "expires-parse", section: .rfc9111("5.3"), count: 16, cases: expiresParse),
        File(name: "headers", section: .rfc9111("3.1"), count: 30, cases: headers),
        File(name: "heuristic-freshness", section: .rfc9111("4.2.2"), count: 27, cases: heuristicFreshness),
        File(name: "interim", section: .rfc9110("15.2"), count: 4, cases: interim),
        File(name: "invalidation", section: .rfc9111("4.4"), count: 16, cases: invalidation),
        File(name: "method", section: .rfc9110("9.3.3"), count: 1, cases: method),
        File(name: "other", section: .rfc9111("4"), count: 13, cases: other),
        File(name: "partial", section: .rfc9111("3.3"), count: 10, cases: partial),
        File(name: "pragma", section: .rfc9111("5.4"), count: 5, cases: pragma),
        File(name: "stale", section: .rfc9111("4.2.4"), count: 12, cases: stale),
        File(name: "status", section: .rfc9111("3"), count: 38, cases: status),
        File(name: "update-head", section: .rfc9111("4.3.5"), count: 5, cases: updateHead),
        File(name: "update304", section: .rfc9111("3.2"), count: 21, cases: updateNotModified),
        File(name: "vary", section: .rfc9111("4.1"), count: 20, cases: vary),
        File(name: "vary-parse", section: .rfc9110("12.5.5"), count: 7, cases: varyParse),
    ]

    /// All cases, each with the caches that it is for.
    static let runs: [SuiteRun] = files.flatMap { file in
        file.cases.flatMap { example in
            example.sharing.map { SuiteRun(file: file.name, section: file.section, example: example, sharing: $0) }
        }
    }

    /// Returns the reason why a case is not followed; `nil` if it is.
    static func reason(_ run: SuiteRun) -> String? { notFollowed[run.example.id] ?? notFollowed[run.name] }
}
