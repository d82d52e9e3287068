@testable import TrellisCaching
@testable import TrellisCore

extension SuiteTables {
    static let entityTags: [SuiteCase] = [
        matched(.optimal, "conditional-etag-strong-respond", #""abcdef""#, by: #""abcdef""#),
        .required(
            "conditional-304-etag", .fresh([#"ETag: "abcdef""#]),
            .get([#"If-None-Match: "abcdef""#]).expecting(.cached, 304, with: [#"ETag: "abcdef""#])),
        .required(
            "conditional-etag-precedence", .fresh(["Last-Modified: {-5000}", #"ETag: "abcdef""#]),
            .get([#"If-None-Match: "abcdef""#, "If-Modified-Since: {-1}"]).expecting(.cached, 304)),
        .check(
            "conditional-etag-strong-respond-obs-text", .fresh(["ETag: \"abcdef\u{fc}\""]),
            .get(["If-None-Match: \"abcdef\u{fc}\""]).expecting(.cached, 304, with: ["ETag: \"abcdef\u{fc}\""])),
        matched(.check, "conditional-etag-quoted-respond-unquoted", #""abcdef""#, by: "abcdef"),
        matched(.check, "conditional-etag-unquoted-respond-unquoted", "abcdef", by: "abcdef"),
        matched(.check, "conditional-etag-unquoted-respond-quoted", "abcdef", by: #""abcdef""#),
        matched(.optimal, "conditional-etag-weak-respond", #"W/"abcdef""#, by: #"W/"abcdef""#),
        matched(.check, "conditional-etag-weak-respond-lowercase", #"w/"abcdef""#, by: #"w/"abcdef""#),
        matched(.check, "conditional-etag-weak-respond-backslash", #"W\"abcdef""#, by: #"W\"abcdef""#),
        matched(.check, "conditional-etag-weak-respond-omit-slash", #"W"abcdef""#, by: #"W"abcdef""#),
        matched(
            .optimal, "conditional-etag-strong-respond-multiple-first", #""abcdef""#,
            by: #""abcdef", "1234", "5678""#),
        matched(
            .optimal, "conditional-etag-strong-respond-multiple-second", #""abcdef""#,
            by: #""1234", "abcdef", "5678""#),
        matched(
            .optimal, "conditional-etag-strong-respond-multiple-last", #""abcdef""#,
            by: #""1234", "5678", "abcdef""#),
        .required(
            "conditional-etag-vary-headers",
            .get(["Abc: 123"]).answering(["Expires: {1}", #"ETag: "abcdef""#, "Date: {0}", "Vary: Abc"]).pausing(),
            .get(["Abc: 123"]).expecting(.etagValidated).arriving(with: ["Abc: 123"])),
        // The versions of the suite disagree: the condition is required in one of them, and forbidden in two.
        .required(
            "conditional-etag-vary-headers-mismatch",
            .get(["Abc: 123"]).answering(["Expires: {10000}", #"ETag: "abcdef""#, "Date: {0}", "Vary: Abc"]).pausing(),
            .get(["Abc: 456"]).expecting(.notCached).arriving(without: ["If-None-Match"])),
        .optimal(
            "conditional-etag-strong-generate", .becomingStale([#"ETag: "abcdef""#]),
            .get().expecting(.etagValidated).arriving(with: [#"If-None-Match: "abcdef""#])),
        .optimal(
            "conditional-etag-weak-generate-weak", .becomingStale([#"ETag: W/"abcdef""#]),
            .get().expecting(.etagValidated).arriving(with: [#"If-None-Match: W/"abcdef""#])),
        .check(
            "conditional-etag-strong-generate-unquoted", .becomingStale(["ETag: abcdef"]),
            .get().expecting(.etagValidated).arriving(with: [#"If-None-Match: "abcdef""#])),
        .check(
            "conditional-etag-forward",
            .get([#"If-None-Match: "abcdef""#]).arriving(with: [#"If-None-Match: "abcdef""#])),
        .check(
            "conditional-etag-forward-unquoted",
            .get(["If-None-Match: abcdef"]).arriving(with: [#"If-None-Match: "abcdef""#])),
    ]

    /// Returns a case in which a condition matches the tag of a fresh response.
    private static func matched(
        _ kind: SuiteCase.Kind, _ id: String, _ tag: String, by condition: String
    ) -> SuiteCase {
        let second = SuiteStep.get(["If-None-Match: \(condition)"]).expecting(.cached, 304)
        return SuiteCase(id: id, kind: kind, steps: [.fresh(["ETag: \(tag)"]), second])
    }

    static let lastModified: [SuiteCase] = [
        .optimal(
            "conditional-lm-fresh", .fresh(["Last-Modified: {-3000}"]),
            .get(["If-Modified-Since: {-3000}"]).expecting(.cached, 304)),
        .optimal(
            "conditional-lm-fresh-earlier", .fresh(["Last-Modified: {-3000}"]),
            .get(["If-Modified-Since: {-2000}"]).expecting(.cached, 304)),
        .optimal(
            "conditional-lm-stale", .becomingStale(["Last-Modified: {-3000}"]),
            .get(["If-Modified-Since: {-3000}"]).expecting(.lastModifiedValidated, 304)),
        .optimal(
            "conditional-lm-fresh-no-lm", .fresh(), .get(["If-Modified-Since: {-3000}"]).expecting(.cached, 304)),
        .optimal(
            "conditional-lm-fresh-rfc850", .fresh(["Last-Modified: {-3000}"]),
            .get(["If-Modified-Since: {850:-3000}"]).expecting(.cached, 304)),
    ]
}
