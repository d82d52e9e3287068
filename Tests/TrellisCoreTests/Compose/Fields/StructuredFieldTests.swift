import Foundation
import Testing

@testable import TrellisCore

/// Structured fields (RFC 9651): what is parsed, and how it is written.
struct StructuredFieldTests {
    static let dictionaries: [([String], String)] = [
        (["max-age=60"], "max-age=60"), (["a, max-age=60;x=1;y"], "a, max-age=60;x=1;y"), (["a=?0, b=?1"], "a=?0, b"),
        (["a=1", "b=-2"], "a=1, b=-2"), (["a=1, b=2, a=3"], "a=3, b=2"), (["  a=1 \t,\t b=2 "], "a=1, b=2"), ([""], ""),
        (["*a=999999999999999"], "*a=999999999999999"),
        (
            ["a=1.50, b=\"x,\\\"y\\\\\", c=tok/en:, d=:YQ==:, e=(1 \"a\";x  );z=1, f=@-1, g=%\"%c3%bc%22\""],
            "a=1.5, b=\"x,\\\"y\\\\\", c=tok/en:, d=:YQ==:, e=(1 \"a\";x);z=1, f=@-1, g=%\"%c3%bc%22\""
        ),
        (["a=:YQ:, b=::"], "a=:YQ==:, b=::"), (["a=0.001, b=-0.5, c=10.0"], "a=0.001, b=-0.5, c=10.0"),
        (["a;x=1;x=2"], "a;x=2"),
        (["sig1=( )", "sig2=(\"@method\" \"a\";key=\"b\");x=1"], "sig1=(), sig2=(\"@method\" \"a\";key=\"b\");x=1"),
    ]

    @Test(arguments: dictionaries) func dictionariesAreReadAndWritten(_ lines: [String], _ text: String) throws {
        let dictionary = try #require(StructuredDictionary(parsing: lines))
        #expect(dictionary.text == text)
        #expect(StructuredDictionary(parsing: [dictionary.text])?.text == dictionary.text)
    }

    @Test func valuesHaveTheirTypes() throws {
        let dictionary = try #require(
            StructuredDictionary(parsing: ["a=1, b=1.25, c=\"s\", d=t, e=:YQ==:, f, g=@5, h=%\"%c3%bc\", i=(1 2)"]))
        let values = dictionary.members.map { member -> StructuredValue? in
            if case .item(let item) = member.value { item.value } else { nil }
        }
        #expect(
            values == [
                .integer(1), .decimal(thousandths: 1250), .string("s"), .token("t"), .bytes(Data("a".utf8)),
                .boolean(true), .date(5), .displayString("\u{FC}"), nil,
            ])
    }

    @Test func listsAndItemsAreReadAndWritten() {
        #expect(StructuredList(parsing: ["a,b ;x", "(c d)"])?.text == nil)
        #expect(StructuredList(parsing: ["a,b;x", "(c d)"])?.text == "a, b;x, (c d)")
        #expect(StructuredList(parsing: [""])?.text == "")
        #expect(StructuredItem(parsing: ["  \"a\";b=?0 "])?.text == "\"a\";b=?0")
        for line in ["", "a, b", "a b", "(a)", "\"a", "\u{E9}"] { #expect(StructuredItem(parsing: [line]) == nil) }
    }

    @Test(arguments: [
        "max-age=60, &&&&&", "Max-Age=60", "max-age =60", "max-age= 60", "a,", "a,,b", "a=", "a=1000000000000000",
        "a=1.", "a=1.2345", "a=1234567890123.1", "a=?2", "a=\"x", "a=\"\\x\"", "a=:Y", "a=:Y:", "a=(1", "a=(1,2)", "a;",
        "a;X", "a=1 b", "a=@1.5", "a=%\"%C3\"", "a=%\"%c3\"", "a=%x", "a=\"\u{FC}\"", "\ta=1", "1=a", "a=-", "a=\"\t\"",
    ])
    func whatIsNoDictionaryIsRefused(_ line: String) { #expect(StructuredDictionary(parsing: [line]) == nil) }

    /// A comparison with all earlier keys would take minutes.
    @Test(.timeLimit(.minutes(3))) func manyKeysAreRead() throws {
        let keys = (0..<100_000).map { "a\($0)" }
        let dictionary = try #require(StructuredDictionary(parsing: [keys.joined(separator: ","), "a7=5"]))
        #expect(dictionary.members.map(\.key) == keys)
        #expect(dictionary.members[7].value == .item(StructuredItem(.integer(5))))
        let parameters = try #require(StructuredItem(parsing: ["a;" + keys.joined(separator: ";") + ";a7=5"]))
            .parameters
        #expect(parameters.map(\.key) == keys && parameters[7].value == .integer(5))
    }

    @Test func membersAreSetInTheirPlace() throws {
        var dictionary = try #require(StructuredDictionary(parsing: ["a=1, b=2"]))
        dictionary["a"] = .item(StructuredItem(.token("t")))
        dictionary["c"] = .item(StructuredItem(.boolean(true)))
        dictionary["b"] = nil
        #expect(dictionary.text == "a=t, c")
    }

    @Test func keysAndStringsAreKnown() {
        #expect(StructuredDictionary.isKey("sig-1.a_*") && StructuredDictionary.isKey("*"))
        for text in ["", "A", "1", "a b", "a=1", "\u{E9}"] { #expect(!StructuredDictionary.isKey(text)) }
        #expect(StructuredValue.isString("a \"b\"") && !StructuredValue.isString("\u{E9}\n"))
    }
}
