@testable import TrellisCaching
@testable import TrellisCore

extension SuiteTables {
    // MARK: Expires

    static let expiresFreshness: [SuiteCase] = [
        .optimal(
            "freshness-expires-future", .get().answering(["Expires: {2592000}", "Date: {0}"]).pausing(),
            .get().expecting(.cached)),
        .required(
            "freshness-expires-past", .get().answering(["Expires: {-2592000}", "Date: {0}"]).pausing(),
            .get().expecting(.notCached)),
        .required(
            "freshness-expires-present", .get().answering(["Expires: {0}", "Date: {0}"]), .get().expecting(.notCached)),
        .required(
            "freshness-expires-old-date", .get().answering(["Expires: {300}", "Date: {400}"]).pausing(),
            .get().expecting(.notCached)),
        .required(
            "freshness-expires-invalid", .get().answering(["Expires: 0", "Date: {0}"]).pausing(),
            .get().expecting(.notCached)),
        .optimal(
            "freshness-expires-invalid-date", .get().answering(["Date: foo", "Expires: {10}"]),
            .get().expecting(.cached)),
        .required(
            "freshness-expires-age-slow-date", .get().answering(["Date: {-10}", "Expires: {10}", "Age: 25"]),
            .get().expecting(.notCached)),
        .required(
            "freshness-expires-age-fast-date", .get().answering(["Date: {10}", "Expires: {20}", "Age: 15"]),
            .get().expecting(.notCached)),
    ]

    static let expiresParse: [SuiteCase] = [
        valid("32bit", "Tue, 19 Jan 2038 14:14:08 GMT"),
        valid("far-future", "Sun, 21 Nov 2286 04:46:39 GMT"),
        valid("rfc850", "Thursday, 18-Aug-50 02:01:18 GMT"),
        valid("ansi-c", "Thu Aug  8 02:01:18 2050"),
        valid("wrong-case-weekday", "THU, 18 Aug 2050 02:01:18 GMT"),
        valid("wrong-case-month", "Thu, 18 AUG 2050 02:01:18 GMT"),
        valid("wrong-case-tz", "Thu, 18 Aug 2050 02:01:18 gMT"),
        invalid("utc", ["Thu, 18 Aug 2050 02:01:18 UTC"], pausing: true),
        invalid("aest", ["Thu, 18 Aug 2050 02:01:18 AEST"], pausing: true),
        invalid("2-digit-year", ["Thu, 18 Aug 50 02:01:18 GMT"], pausing: true),
        invalid("no-comma", ["Thu 18 Aug 2050 02:01:18 GMT"], pausing: true),
        invalid("multiple-spaces", ["Thu, 18  Aug  2050 02:01:18 GMT"]),
        invalid("date-dashes", ["Thu, 18-Aug-2050 02:01:18 GMT"]),
        invalid("time-periods", ["Thu, 18 Aug 2050 02.01.18 GMT"]),
        invalid("1-digit-hour", ["Thu, 18 Aug 2050 2:01:18 GMT"]),
        invalid("multiple-lines", ["Thu, 18 Aug 2050 2:01:18 GMT", "Thu, 18 Aug 2050 2:01:19 GMT"]),
    ]

    private static func valid(_ id: String, _ date: String) -> SuiteCase {
        .optimal(
            "freshness-expires-\(id)", .get().answering(["Expires: \(date)", "Date: {0}"]).pausing(),
            .get().expecting(.cached))
    }

    private static func invalid(_ id: String, _ dates: [String], pausing: Bool = false) -> SuiteCase {
        let first = SuiteStep.get().answering(dates.map { "Expires: \($0)" } + ["Date: {0}"])
        return .required(
            "freshness-expires-invalid-\(id)", pausing ? first.pausing() : first, .get().expecting(.notCached))
    }

    // MARK: Heuristics

    static let heuristicFreshness: [SuiteCase] = estimated + [estimatedIfPublic] + notEstimated + deltas

    private static let dayOld = ["Last-Modified: {-86400}", "Date: {0}"]

    private static let estimated: [SuiteCase] = [200, 203, 204, 404, 405, 410, 414, 501].map { code in
        SuiteCase.optimal(
            "heuristic-\(code)-cached", .get().answering(dayOld, status: code), .get().expecting(.cached, code))
    }

    private static let estimatedIfPublic: SuiteCase = .optimal(
        "heuristic-599-cached", .get().answering(dayOld + ["Cache-Control: public"], status: 599),
        .get().expecting(.cached, 599))

    private static let notEstimated: [SuiteCase] = [201, 202, 403, 502, 503, 504, 599].map { code in
        SuiteCase.required(
            "heuristic-\(code)-not_cached", .get().answering(dayOld, status: code),
            .get().answering(dayOld, status: code).expecting(.notCached))
    }

    private static let deltas: [SuiteCase] = [5, 10, 30, 60, 300, 600, 1200, 1800, 3600, 43_200, 86_400].map {
        seconds in
        SuiteCase.check(
            "heuristic-delta-\(seconds)", .get().answering(["Last-Modified: {-\(seconds)}", "Date: {0}"]).pausing(),
            .get().expecting(.cached))
    }
}
