@testable import Trellis

/// The cases of the suite by its files.
enum SuiteTables {
    /// A file of the suite.
    struct File: Sendable {
        let name: String
        /// The number of cases that the table has.
        let count: Int
        let cases: [SuiteCase]
    }

    static let files: [File] = [
        File(name: "age-parse", count: 15, cases: ageParse),
        File(name: "authorization", count: 4, cases: authorization),
        File(name: "cc-request", count: 12, cases: requestDirectives),
        File(name: "cc-response", count: 17, cases: responseDirectives),
        File(name: "cc-stale", count: 5, cases: staleDirectives),
        File(name: "conditional-etag", count: 21, cases: entityTags),
        File(name: "conditional-lm", count: 5, cases: lastModified),
        File(name: "expires-freshness", count: 8, cases: expiresFreshness),
        File(name: "expires-parse", count: 16, cases: expiresParse),
        File(name: "headers", count: 30, cases: headers),
        File(name: "heuristic-freshness", count: 27, cases: heuristicFreshness),
        File(name: "interim", count: 4, cases: interim),
        File(name: "invalidation", count: 16, cases: invalidation),
        File(name: "method", count: 1, cases: method),
        File(name: "other", count: 13, cases: other),
        File(name: "partial", count: 10, cases: partial),
        File(name: "pragma", count: 5, cases: pragma),
        File(name: "stale", count: 12, cases: stale),
        File(name: "status", count: 38, cases: status),
        File(name: "update-head", count: 5, cases: updateHead),
        File(name: "update304", count: 21, cases: updateNotModified),
        File(name: "vary", count: 20, cases: vary),
        File(name: "vary-parse", count: 7, cases: varyParse),
    ]

    /// All cases, each with the caches that it is for.
    static let runs: [SuiteRun] = files.flatMap { file in
        file.cases.flatMap { example in
            example.sharing.map { SuiteRun(file: file.name, example: example, sharing: $0) }
        }
    }

    /// Returns the reason why a case is not followed; `nil` if it is.
    static func reason(_ run: SuiteRun) -> String? { notFollowed[run.example.id] ?? notFollowed[run.name] }
}
