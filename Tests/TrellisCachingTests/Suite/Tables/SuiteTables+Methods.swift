@testable import TrellisCaching
@testable import TrellisCore

extension SuiteTables {
    static let method: [SuiteCase] = [
        .optimal(
            "method-POST",
            .send("POST", ["Content-Type: text/plain"], text: "12345")
                .answering(["Cache-Control: max-age=3600", "Content-Location: {url}", "Date: {0}"]).pausing(),
            .get().expecting(.cached))
    ]

    // MARK: Invalidation

    static let invalidation: [SuiteCase] = ["POST", "PUT", "DELETE", "M-SEARCH"].flatMap(invalidated)

    private static let locations = [
        "Location: {url}/location_target", "Content-Location: {url}/content_location_target",
    ]

    private static func invalidated(by method: String) -> [SuiteCase] {
        [
            .required(
                "invalidate-\(method)", .fresh(), .send(method, text: "abc").asSetup(),
                .get().expecting(.notCached)),
            .optimal(
                "invalidate-\(method)-failed", .fresh(),
                .send(method, text: "abc").answering([], status: 500).asSetup(),
                .get().expecting(.cached)),
            .check(
                "invalidate-\(method)-location", target("/location_target"),
                .send(method, text: "abc").answering(locations).asSetup(),
                .get(at: "/location_target").expecting(.notCached)),
            .check(
                "invalidate-\(method)-cl", target("/content_location_target"),
                .send(method, text: "abc").answering(locations).asSetup(),
                .get(at: "/content_location_target").expecting(.notCached)),
        ]
    }

    private static func target(_ suffix: String) -> SuiteStep {
        .get(at: suffix).answering(["Cache-Control: max-age=100000", "Last-Modified: {0}", "Date: {0}"])
    }

    // MARK: HEAD

    static let updateHead: [SuiteCase] = [
        .check("head-writethrough", .becomingStale(), .send("HEAD").arriving("HEAD")),
        .check(
            "head-200-retain", .becomingStale(),
            .send("HEAD").arriving("HEAD").expecting(nil, with: ["Template-A: 1"])),
        .check(
            "head-200-freshness-update", .becomingStale(),
            .send("HEAD").answering(["Cache-Control: max-age=1000"]).arriving("HEAD"), .get().expecting(.cached)),
        .check(
            "head-200-update", .becomingStale(),
            .send("HEAD").answering(["Template-A: 2", "Cache-Control: max-age=1000"]).arriving("HEAD"),
            .get().expecting(.cached, with: ["Template-A: 2"])),
        .check(
            "head-410-update", .becomingStale(),
            .send("HEAD").answering(["Template-A: 2", "Cache-Control: max-age=1000"], status: 410).arriving("HEAD"),
            .get().expecting(.cached, with: ["Template-A: 2"])),
    ]
}
