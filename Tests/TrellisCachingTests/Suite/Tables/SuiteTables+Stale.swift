@testable import TrellisCaching
@testable import TrellisCore

extension SuiteTables {
    static let stale: [SuiteCase] = [
        .check("stale-close", .becomingStale(), .get().closing().expecting(.cached)),
        .check("stale-503", .becomingStale(), .get().answering([], status: 503).expecting(.cached, 200)),
        .optimal(
            "stale-while-revalidate", living("max-age=1, stale-while-revalidate=3600", [#"ETag: "abc""#]),
            .get().expecting(.cached)),
        .required(
            "stale-while-revalidate-window", living("max-age=1, stale-while-revalidate=4", [#"ETag: "abc""#]),
            .get().answering(["Cache-Control: no-cache", #"ETag: "def""#]).expecting(.cached).pausing().asSetup(),
            .get().expecting(.notCached)),
        .check(
            "stale-sie-close", living("max-age=2, stale-if-error=60"), .get().closing().expecting(.cached)),
        .check("stale-sie-503", living("max-age=2, stale-if-error=60"), .get().closing().expecting(.cached)),
        .required(
            "stale-close-must-revalidate", living("max-age=2, must-revalidate"),
            .get().closing().expecting(.notUsed)),
        .required(
            "stale-close-proxy-revalidate", living("max-age=2, proxy-revalidate"),
            .get().closing().expecting(.notUsed)
        ).only(.shared),
        .required(
            "stale-close-no-cache", living("max-age=2, no-cache"), .get().closing().expecting(.notUsed)),
        .required(
            "stale-close-s-maxage=2", living("max-age=2, s-maxage=2"), .get().closing().expecting(.notUsed)
        ).only(.shared),
        .check("stale-warning-stored", .stale(), .get().closing().expecting(.cached, with: ["Warning"])),
        .check("stale-warning-become", .becomingStale(), .get().closing().expecting(.cached, with: ["Warning"])),
    ]

    private static func living(_ directives: String, _ lines: [String] = []) -> SuiteStep {
        .get().answering(["Cache-Control: \(directives)"] + lines).pausing()
    }

    /// The cases of an older file of the suite.
    static let staleDirectives: [SuiteCase] = [
        .optimal(
            "stale-while-revalidate-refreshed",
            .get().answering(["Cache-Control: max-age=0, stale-while-revalidate=3600", #"ETag: "abc""#]),
            .get().answering(["Cache-Control: max-age=3600", #"ETag: "def""#])
                .expecting(
                    .cached, with: ["Cache-Control: max-age=0, stale-while-revalidate=3600", #"ETag: "abc""#]
                )
                .pausing(),
            .get().expecting(.cached, with: ["Cache-Control: max-age=3600", #"ETag: "def""#])),
        .check(
            "stale-if-error-cc-response", .get().answering(["Cache-Control: max-age=0, stale-if-error=3600"]),
            .get().answering([], status: 500).expecting(.cached, 200)),
        .required(
            "stale-if-error-cc-response-expired", living("max-age=0, stale-if-error=1"),
            .get().answering([], status: 500).expecting(.notCached, 500)),
        .check(
            "stale-if-error-cc-request", .get().answering(["Cache-Control: max-age=0"]),
            .get(["Cache-Control: stale-if-error=3600"]).answering([], status: 500).expecting(.cached, 200)),
        .required(
            "stale-if-error-cc-request-expired", living("max-age=0"),
            .get(["Cache-Control: stale-if-error=1"]).answering([], status: 500).expecting(.notCached, 500)),
    ]

    // MARK: Statuses

    private static let codes = [
        200, 203, 204, 299, 301, 302, 303, 307, 308, 400, 404, 410, 499, 500, 502, 503, 504, 599,
    ]

    static let status: [SuiteCase] = freshStatuses + staleStatuses + understood

    private static let freshStatuses: [SuiteCase] = codes.map { code in
        SuiteCase.optimal("status-\(code)-fresh", .fresh(status: code), .get().expecting(.cached, code))
    }

    private static let staleStatuses: [SuiteCase] = codes.map { code in
        SuiteCase.required("status-\(code)-stale", .stale(status: code), .get().expecting(.notCached))
    }

    private static let understood: [SuiteCase] = [
        .required(
            "status-599-must-understand",
            .get().answering(["Cache-Control: max-age=3600, no-store, must-understand"], status: 599),
            .get().expecting(.notCached)),
        .optimal(
            "status-200-must-understand",
            .get().answering(["Cache-Control: max-age=3600, no-store, must-understand"]),
            .get().expecting(.cached)),
    ]
}
