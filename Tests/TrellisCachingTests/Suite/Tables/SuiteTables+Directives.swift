@testable import TrellisCaching
@testable import TrellisCore

extension SuiteTables {
    static let requestDirectives: [SuiteCase] = [
        .check("ccreq-ma0", .fresh(), .get(["Cache-Control: max-age=0"]).expecting(.notCached)),
        .check("ccreq-ma1", .fresh(), .get(["Cache-Control: max-age=1"]).expecting(.notCached)),
        .check("ccreq-magreaterage", .fresh(["Age: 1800"]), .get(["Cache-Control: max-age=600"]).expecting(.notCached)),
        .check(
            "ccreq-max-stale", .get().answering(["Cache-Control: max-age=2", "Date: {0}"]).pausing(),
            .get(["Cache-Control: max-stale=1000"]).expecting(.cached)),
        .check(
            "ccreq-max-stale-age", .get().answering(["Cache-Control: max-age=1500", "Age: 2000"]),
            .get(["Cache-Control: max-stale=1000"]).expecting(.cached)),
        .check(
            "ccreq-min-fresh", .get().answering(["Cache-Control: max-age=1500"]),
            .get(["Cache-Control: min-fresh=2000"]).expecting(.notCached)),
        .check(
            "ccreq-min-fresh-age", .get().answering(["Cache-Control: max-age=1500", "Age: 1000"]),
            .get(["Cache-Control: min-fresh=1000"]).expecting(.notCached)),
        .check(
            "ccreq-no-cache", .get().answering(["Cache-Control: max-age=3600"]),
            .get(["Cache-Control: no-cache"]).expecting(.notCached)),
        .check(
            "ccreq-no-cache-lm",
            .get().answering(["Cache-Control: max-age=3600", "Last-Modified: {-10000}", "Date: {0}"]),
            .get(["Cache-Control: no-cache"]).expecting(.lastModifiedValidated)),
        .check(
            "ccreq-no-cache-etag", .get().answering(["Cache-Control: max-age=3600", #"ETag: "abc""#]),
            .get(["Cache-Control: no-cache"]).expecting(.etagValidated)),
        .check("ccreq-no-store", .fresh(), .get(["Cache-Control: no-store"]).expecting(.notCached)),
        .check("ccreq-oic", .get(["Cache-Control: only-if-cached"]).expecting(nil, 504).withAnyBody()),
    ]

    private static let lasting = ["Expires: {10000}", "Date: {0}"]

    static let responseDirectives: [SuiteCase] = [
        .required("cc-resp-private-shared", directives("private, max-age=3600"), .get().expecting(.notCached))
            .only(.shared),
        .optimal("cc-resp-private-private", directives("private, max-age=3600"), .get().expecting(.cached))
            .only(.private),
        .required("cc-resp-no-store", directives("no-store"), .get().expecting(.notCached)),
        .required("cc-resp-no-store-case-insensitive", directives("No-StOrE"), .get().expecting(.notCached)),
        .required(
            "cc-resp-no-store-fresh", directives("max-age=10000, no-store", lasting), .get().expecting(.notCached)),
        .required(
            "cc-resp-no-store-old-new", directives("max-age=10000", lasting + ["A: 1"]).pausing(),
            directives("no-store", ["Date: {0}", "A: 2"]).pausing().asSetup(),
            .get().expecting(.cached, with: ["A: 1"])),
        .required(
            "cc-resp-no-store-old-max-age", directives("max-age=10000", lasting + ["A: 1"]).pausing(),
            directives("no-store, max-age=0", ["Date: {0}", "A: 2"]).pausing().asSetup(),
            .get().expecting(.cached, with: ["A: 1"])),
        .required("cc-resp-no-cache", directives("max-age=10000, no-cache", lasting), .get().expecting(.notCached)),
        .required(
            "cc-resp-no-cache-case-insensitive", directives("max-age=10000, No-CaChE", lasting),
            .get().expecting(.notCached)),
        .optimal(
            "cc-resp-no-cache-revalidate", directives("no-cache", [#"ETag: "abcd""#]),
            .get().expecting(.etagValidated)),
        .optimal(
            "cc-resp-no-cache-revalidate-fresh",
            directives("max-age=10000, no-cache", lasting + [#"ETag: "abcd""#]),
            .get().expecting(.etagValidated)),
        .check(
            "headers-omit-headers-listed-in-Cache-Control-no-cache-single",
            directives(#"no-cache="a""#, ["Cache-Control: max-age=3600", "a: 1", "b: 2", "Date: {0}"]).pausing(),
            .get().expecting(.cached, with: ["b: 2"], without: ["a"])),
        .check(
            "headers-omit-headers-listed-in-Cache-Control-no-cache",
            directives(#"no-cache="a, b""#, ["Cache-Control: max-age=3600", "a: 1", "b: 2", "c: 3", "Date: {0}"])
                .pausing(),
            .get().expecting(.cached, with: ["c: 3"], without: ["a", "b"])),
        .optimal(
            "cc-resp-must-revalidate-fresh", directives("max-age=10000, must-revalidate", [#"ETag: "abcd""#]),
            .get().expecting(.cached)),
        .required(
            "cc-resp-must-revalidate-stale", directives("max-age=2, must-revalidate", [#"ETag: "abcd""#]),
            .get().expecting(.cached).pausing().asSetup(), .get().expecting(.etagValidated)),
        .optimal(
            "cc-resp-immutable-fresh", directives("max-age=10000, immutable", [#"ETag: "abcd""#]).pausing(),
            .get(mode: .noCache).expecting(.cached)
        ).only(.private),
        .required(
            "cc-resp-immutable-stale", directives("max-age=2, immutable", [#"ETag: "abcd""#]).pausing(),
            .get(mode: .noCache).expecting(.etagValidated).arriving(with: ["Cache-Control: max-age=0"])
        ).only(.private),
    ]

    private static func directives(_ directives: String, _ lines: [String] = []) -> SuiteStep {
        .get().answering(["Cache-Control: \(directives)"] + lines)
    }
}
