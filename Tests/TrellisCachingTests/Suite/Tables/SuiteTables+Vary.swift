import TestSupport

@testable import TrellisCaching
@testable import TrellisCore

extension SuiteTables {
    private static let one = ["Foo: 1"]
    private static let two = ["Foo: 1", "Bar: abc"]
    private static let three = ["Foo: 1", "Bar: abc", "Baz: 789"]

    static let vary: [SuiteCase] = [
        pair(.optimal, "vary-match", "Foo", one, one, .cached),
        pair(.required, "vary-no-match", "Foo", one, ["Foo: 2"], .notCached),
        pair(.required, "vary-omit-stored", "Foo", [], one, .notCached),
        pair(.required, "vary-omit", "Foo", one, [], .notCached),
        .optimal(
            "vary-invalidate", varying("Foo", one, text: "first"),
            varying("Foo", ["Foo: 2"], text: "second").expecting(.notCached).asSetup(),
            varying("Foo", one, text: "first").expecting(.cached)),
        pair(.optimal, "vary-cache-key", "Foo", ["Foo: 1", "Other: 2"], ["Foo: 1", "Other: 3"], .cached),
        pair(.optimal, "vary-2-match", "Foo, Bar", two, two, .cached),
        pair(.required, "vary-2-no-match", "Foo, Bar", two, ["Foo: 2", "Bar: abc"], .notCached),
        pair(.required, "vary-2-match-omit", "Foo, Bar", two, [], .notCached),
        pair(.optimal, "vary-3-match", "Foo, Bar, Baz", three, three, .cached),
        pair(.required, "vary-3-no-match", "Foo, Bar, Baz", three, ["Foo: 2", "Bar: abc", "Baz: 789"], .notCached),
        pair(.required, "vary-3-order", "Foo, Bar, Baz", three, ["Foo: 1", "Baz: 789", "Bar: abcde"], .notCached),
        pair(.optimal, "vary-3-omit", "Foo, Bar, Baz", ["Foo: 1", "Baz: 789"], ["Foo: 1", "Baz: 789"], .cached),
        pair(.required, "vary-star", "*", ["Foo: 1", "Baz: 789"], ["Foo: 1", "Baz: 789"], .notCached),
        pair(.optimal, "vary-normalise-combine", "Foo", ["Foo: 1, 2"], ["Foo: 1", "Foo: 2"], .cached),
        language("order", "de, en"),
        language("case", "eN, De"),
        // A blank before the value is no part of it.
        language("space", "en ,   de"),
        language("select", "fr;q=0.5, de;q=1.0", ["Content-Language: de"]),
        pair(.optimal, "vary-normalise-space", "Foo", ["Foo: 1,2"], ["Foo: 1, 2"], .cached),
    ]

    private static func language(_ id: String, _ languages: String, _ lines: [String] = []) -> SuiteCase {
        .optimal(
            "vary-normalise-lang-\(id)", varying("Accept-Language", ["Accept-Language: en, de"], lines),
            varying("Accept-Language", ["Accept-Language: \(languages)"], lines).expecting(.cached))
    }

    private static func pair(
        _ kind: SuiteCase.Kind, _ id: String, _ vary: String, _ first: [String], _ second: [String],
        _ outcome: SuiteStep.Outcome
    ) -> SuiteCase {
        SuiteCase(id: id, kind: kind, steps: [varying(vary, first), .get(second).expecting(outcome)])
    }

    private static func varying(
        _ vary: String, _ request: [String], _ lines: [String] = [], text: String = SuiteStep.defaultText
    ) -> SuiteStep {
        .get(request).answering(lasting + ["Vary: \(vary)"] + lines, text: text)
    }

    private static let lasting = ["Cache-Control: max-age=5000", "Last-Modified: {-3000}", "Date: {0}"]

    // MARK: Forms of the field

    static let varyParse: [SuiteCase] = [
        syntax("star", ["Vary: *"]),
        syntax("star-star", ["Vary: *, *"]),
        syntax("star-star-lines", ["Vary: *", "Vary: *"]),
        syntax("empty-star", ["Vary: , *"]),
        syntax("empty-star-lines", ["Vary:", "Vary: *"]),
        syntax("star-foo", ["Vary: *, Foo"]),
        syntax("foo-star", ["Vary: Foo, *"]),
    ]

    private static func syntax(_ id: String, _ lines: [String]) -> SuiteCase {
        let fields = ["Foo: 1", "Baz: 789"]
        return .required(
            "vary-syntax-\(id)", .get(fields).answering(lasting + lines), .get(fields).expecting(.notCached))
    }
}
