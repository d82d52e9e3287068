import Testing

@testable import TrellisCore

/// Media types, and the types that an `Accept` field includes.
struct MediaTypeTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let text: String
        let essence: String?
        let parameters: [String]
        init(_ text: String, _ essence: String?, _ parameters: [String] = []) {
            (self.text, self.essence, self.parameters) = (text, essence, parameters)
        }
        var testDescription: String { text.isEmpty ? "nothing" : text }
    }

    @Test(arguments: [
        Row("text/html", "text/html"),
        Row("Text/HTML", "text/html"),
        Row("  text/html  ", "text/html"),
        Row("text/html;charset=utf-8", "text/html", ["charset=utf-8"]),
        Row("text/html ; Charset=UTF-8", "text/html", ["charset=UTF-8"]),
        Row(#"text/html; charset="utf-8""#, "text/html", ["charset=utf-8"]),
        Row(#"text/x; a="b;c=d\"e"; f=g"#, "text/x", [#"a=b;c=d"e"#, "f=g"]),
        Row("text/html;", "text/html"),
        Row("text/html;;a=b", "text/html", ["a=b"]),
        Row("text/html; broken; a=b", "text/html", ["a=b"]),
        Row("text/html; =x; a=b", "text/html", ["a=b"]),
        Row(#"text/html; a="never ends"#, "text/html"),
        Row("application/problem+json", "application/problem+json"),
        Row("application/vnd.api.v1+json; v=1; v=2", "application/vnd.api.v1+json", ["v=1", "v=2"]),
        Row("*/*", "*/*"),
        Row("image/*;q=0.5", "image/*", ["q=0.5"]),
        Row("", nil), Row("text", nil), Row("text/", nil), Row("/html", nil), Row("text / html", nil),
        Row("text/html, text/plain", nil), Row("tex t/html", nil), Row("text/html x", nil), Row("é/html", nil),
    ])
    func isParsed(_ row: Row) {
        let type = MediaType(row.text)
        #expect(type?.essence == row.essence)
        #expect((type?.parameters ?? []).map { "\($0.name)=\($0.value)" } == row.parameters)
    }

    @Test(arguments: [#"text/html; charset=utf-8"#, #"a/b; c="d \"e\" \\""#, "a/b", #"a/b; c="""#])
    func whatIsWrittenIsWhatWasParsed(_ text: String) throws {
        #expect(try #require(MediaType(text)).description == text)
    }

    @Test func theFirstParameterOfANameCounts() throws {
        let type = try #require(MediaType("text/html; charset=a; charset=b"))
        #expect(type.charset == "a")
        #expect(type["boundary"] == nil)
    }

    @Test(arguments: [
        ("text/html", "text/html", true), ("text/html", "text/*", true), ("text/html", "*/html", true),
        ("text/html", "*/*", true), ("TEXT/html; charset=x", "text/HTML; level=1", true),
        ("text/html", "text/plain", false), ("text/html", "image/*", false), ("text/html", "*/plain", false),
        ("text/*", "text/html", false), ("application/problem+json", "application/json", false),
    ])
    func liesInARange(_ type: String, _ range: String, _ isIncluded: Bool) throws {
        #expect(try #require(MediaType(type)).isIncluded(in: try #require(MediaType(range))) == isIncluded)
    }

    @Test(arguments: [
        ("text/html, text/plain", ["text/html", "text/plain"]),
        (#"a/b; c="d, e/f, x", g/h"#, ["a/b", "g/h"]),
        (",,a/b, ,nonsense,c/d,", ["a/b", "c/d"]),
        ("", []),
    ])
    func aListIsSplitAtCommasThatAreNotQuoted(_ text: String, _ essences: [String]) {
        #expect(MediaType.list(text).map(\.essence) == essences)
    }

    @Test(
        arguments: [
            ("application/json", "application/json; charset=utf-8", true),
            ("application/json, text/*;q=0.1", "text/csv", true),
            ("application/json", "text/html", false),
            ("*/*", "text/html", true),
            // A missing or malformed type is accepted only by `*/*`.
            ("*/*", nil, true), ("text/html, */*;q=0.1", nil, true), ("text/*", nil, false), ("*/html", nil, false),
            ("*/*", "nonsense", true), ("text/html", "nonsense", false),
            // A weight of zero refuses a type (RFC 9110, section 12.4.2). The most specific range decides.
            ("text/*, text/html;q=0", "text/html", false), ("text/*, text/html;q=0", "text/plain", true),
            ("text/*;q=0, text/html", "text/html", true), ("*/*;q=0.0", nil, false), ("*/*;q=0", "text/html", false),
            ("text/html;q=0.001", "text/html", true),
            ("", "text/html", false),
        ] as [(String, String?, Bool)])
    func theAcceptedOnes(_ accept: String, _ type: String?, _ isAccepted: Bool) {
        #expect(AcceptableTypes([accept]).accept(type.flatMap { MediaType($0) }) == isAccepted)
    }
}
