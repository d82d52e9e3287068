@testable import TrellisCaching
@testable import TrellisCore

extension SuiteTables {
    static let other: [SuiteCase] = [
        .required("other-age-gen", .fresh(), .get().expecting(.cached).older(than: 2)),
        .check(
            "other-age-delay",
            .get().answering(["Cache-Control: max-age=3600", "Date: {0}"]).delaying(5).older(than: 0)),
        .required(
            "other-age-update-expires",
            .get().answering(["Expires: {2592000}", "Date: {0}", "Age: 30"]).pausing(),
            .get().expecting(.cached).older(than: 32)),
        .required("other-age-update-max-age", .fresh(["Age: 30"]), .get().expecting(.cached).older(than: 32)),
        .required("other-date-update", .fresh(), .get().expecting(.cached).keeping(["Date"])),
        .required(
            "other-date-update-expires", .get().answering(["Expires: {2592000}", "Date: {0}"]).pausing(),
            .get().expecting(.cached).keeping(["Date"])),
        .check(
            "other-date-update-expires-update", .get().answering(["Expires: {2592000}", "Date: {0}"]).pausing(),
            .get().expecting(.cached).keeping(["Expires"])),
        .required(
            "query-args-different",
            .get(at: "?test=1").answering(["Cache-Control: max-age=100000", "Date: {0}"]).pausing(),
            .get(at: "?test=2").expecting(.notCached)),
        .optimal(
            "query-args-same",
            .get(at: "?test=1").answering(["Cache-Control: max-age=100000", "Date: {0}"]).pausing(),
            .get(at: "?test=1").expecting(.cached)),
        .check(
            "other-heuristic-content-disposition-attachment",
            .get().answering(["Last-Modified: {-100000}", "Date: {0}", attachment]), .get().expecting(.cached)),
        .check("other-fresh-content-disposition-attachment", .fresh([attachment]), .get().expecting(.cached)),
        .optimal("other-set-cookie", .fresh(["Set-Cookie: a=b"]), .get().expecting(.cached)),
        .optimal("other-cookie", .fresh(), .get(["Cookie: a=b"]).expecting(.cached)),
    ]

    private static let attachment = #"Content-Disposition: attachment; filename="test.txt""#

    // MARK: Informational heads

    private static let style = "Link: </style.css>; rel=preload; as=style"

    /// An informational head reaches the caller with the response of the origin, and with no other response.
    static let interim: [SuiteCase] = [
        .optimal("interim-102", .fresh().preceded(by: 102), .get().expecting(.cached)),
        .optimal(
            "interim-103", .fresh().preceded(by: 103, [style, "x-my-header: test"]), .get().expecting(.cached)),
        .required("interim-not-cached", .fresh().preceded(by: 103, [style]), .get().expecting(.cached)),
        .required(
            "interim-no-header-reuse",
            .fresh().preceded(by: 103, [style, "x-my-header: test"]).expecting(nil, without: ["x-my-header"]),
            .get().expecting(.cached, without: ["x-my-header"])),
    ]

    // MARK: Parts

    /// The parts that the origin sends have no validator, and all but the last have another length than their range.
    static let partial: [SuiteCase] = [
        .optimal(
            "partial-store-complete-reuse-partial", complete("01234567890"), part("bytes=0-1", "01")),
        .optimal(
            "partial-store-complete-reuse-partial-no-last", complete("01234567890"), part("bytes=1-", "1234567890")),
        .optimal("partial-store-complete-reuse-partial-suffix", complete("0123456789A"), part("bytes=-1", "A")),
        .required("partial-use-headers", complete("01234567890", ["A: 1"]), part("bytes=0-1", "01", ["A: 2"])),
        .required(
            "partial-use-stored-headers", complete("01234567890", ["A: 1"]),
            part("bytes=0-1", "01").expecting(.cached, 206, with: ["A: 1"])),
        .optimal(
            "partial-store-partial-reuse-partial", stored("4-9/10").arriving(with: ["Range: bytes=-5"]),
            part("bytes=-5", "01234")),
        .optimal("partial-store-partial-reuse-partial-byterange", stored("4-9/10"), part("bytes=6-8", "234")),
        .optimal("partial-store-partial-reuse-partial-absent", stored("4-9/10"), part("bytes=6-", "234")),
        .optimal("partial-store-partial-reuse-partial-suffix", stored("4-9/10"), part("bytes=-1", "4")),
        .optimal(
            "partial-store-partial-complete", stored("0-4/10"),
            .get().arriving(with: ["Range: bytes=5-"]).withAnyBody()),
    ]

    private static func complete(_ text: String, _ lines: [String] = []) -> SuiteStep {
        .get().answering(["Cache-Control: max-age=3600"] + lines, text: text)
    }

    /// Returns a request for a part of a stored response.
    private static func part(_ range: String, _ text: String, _ lines: [String] = []) -> SuiteStep {
        .get(["Range: \(range)"]).answering(lines, status: 206, text: text).expecting(.cached, 206)
    }

    /// Returns a request for a part. The first of these parts has six bytes according to its range, and five in its body, as in the suite.
    private static func stored(_ range: String) -> SuiteStep {
        .get(["Range: bytes=-5"])
            .answering(
                ["Cache-Control: max-age=3600", "Content-Range: bytes \(range)"], status: 206, text: "01234")
    }
}
