import TestSupport

@testable import TrellisCaching
@testable import TrellisCore

extension SuiteTables {
    static let ageParse: [SuiteCase] = [
        age("age-parse-nonnumeric", ["Age: abc"], .cached),
        age("age-parse-negative", ["Age: -7200"], .cached),
        age("age-parse-float", ["Age: 7200.0"], .cached),
        age("age-parse-large-minus-one", ["Age: 2147483647"], .notCached),
        age("age-parse-large", ["Age: 2147483648"], .notCached),
        age("age-parse-larger", ["Age: 2147483649"], .notCached),
        age("age-parse-suffix", ["Age: 7200, 0"], .notCached),
        age("age-parse-prefix", ["Age: 0, 7200"], .cached),
        age("age-parse-suffix-twoline", ["Age: 7200", "Age: 0"], .notCached),
        age("age-parse-prefix-twoline", ["Age: 0", "Age: 7200"], .cached),
        age("age-parse-dup-0", ["Age: 0, 0"], .cached),
        age("age-parse-dup-0-twoline", ["Age: 0", "Age: 0"], .cached),
        age("age-parse-dup-old", ["Age: 3600", "Age: 3600"], .cached, lifetime: 10_000),
        age("age-parse-parameter", ["Age: 7200;foo=bar"], .notCached, .check),
        age("age-parse-numeric-parameter", ["Age: 7200;foo=111"], .notCached, .check),
    ]

    private static func age(
        _ id: String, _ lines: [String], _ outcome: SuiteStep.Outcome, _ kind: SuiteCase.Kind = .required,
        lifetime: Int = 3600
    ) -> SuiteCase {
        let first = SuiteStep.get().answering(["Date: {0}", "Cache-Control: max-age=\(lifetime)"] + lines).pausing()
        return SuiteCase(id: id, kind: kind, steps: [first, .get().expecting(outcome)])
    }

    static let authorization: [SuiteCase] = [
        .required("other-authorization", authorized("max-age=100000"), .get().expecting(.notCached)).only(.shared),
        .optimal("other-authorization-public", authorized("max-age=3600, public"), .get().expecting(.cached))
            .only(.shared),
        .optimal(
            "other-authorization-must-revalidate", authorized("max-age=3600, must-revalidate"),
            .get().expecting(.cached)
        ).only(.shared),
        .optimal("other-authorization-smaxage", authorized("s-maxage=3600"), .get().expecting(.cached)).only(.shared),
    ]

    private static func authorized(_ directives: String) -> SuiteStep {
        .get(["Authorization: FOO"]).answering(["Cache-Control: \(directives)", "Date: {0}"]).pausing()
            .arriving(with: ["Authorization: FOO"])
    }

    static let pragma: [SuiteCase] = [
        .check("pragma-request-no-cache", .fresh(), .get(["Pragma: no-cache"]).expecting(.cached)),
        .check("pragma-request-extension", .fresh(), .get(["Pragma: unrecognised-extension"]).expecting(.cached)),
        .check(
            "pragma-response-no-cache", .get().answering(["Cache-Control: max-age=3600", "Pragma: no-cache"]),
            .get().expecting(.cached)),
        .check(
            "pragma-response-no-cache-heuristic",
            .get().answering(["Date: {0}", "Last-Modified: {-10000}", "Pragma: no-cache"]),
            .get().expecting(.cached)),
        .check(
            "pragma-response-extension",
            .get().answering(["Cache-Control: max-age=3600", "Pragma: unrecognised-extension"]),
            .get().expecting(.cached)),
    ]
}
