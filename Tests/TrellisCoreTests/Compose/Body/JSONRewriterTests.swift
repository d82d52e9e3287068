import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The replacement of values in JSON text.
struct JSONRewriterTests {
    private typealias Component = JSONRewriter.Component

    /// Returns a text with `"X"` in the place of each string under the name `secret`.
    private static func hidden(_ text: String) -> (text: String, isComplete: Bool) {
        JSONRewriter.rewritten(text) { path, kind in
            kind == .string && path.contains(.key("secret")) ? #""X""# : nil
        }
    }

    @Test(
        arguments: [
            (#"{"secret":"a"}"#, #"{"secret":"X"}"#),
            (#" { "a" : 1 , "secret" : "a\"b\\" } "#, #" { "a" : 1 , "secret" : "X" } "#),
            (#"{"secret":{"b":["c",{"d":"e"},1,null]},"f":"g"}"#, #"{"secret":{"b":["X",{"d":"X"},1,null]},"f":"g"}"#),
            (#"[{"secret":"a"},{"x":"secret"}]"#, #"[{"secret":"X"},{"x":"secret"}]"#),
            (#"{"s\u0065cret":"a"}"#, #"{"s\u0065cret":"X"}"#),
            ("{\"secret\":\"a\"}\n{\"secret\":\"b\"}\n", "{\"secret\":\"X\"}\n{\"secret\":\"X\"}\n"),
            (#"{"a":{},"b":[],"secret":"c"}"#, #"{"a":{},"b":[],"secret":"X"}"#),
            (#"[[[],[]],{"a":[{"secret":"b"}]}]"#, #"[[[],[]],{"a":[{"secret":"X"}]}]"#),
            ("", ""), ("  ", "  "), ("1.5e-3", "1.5e-3"), ("\"a\"", "\"a\""),
        ])
    func onlyTheValuesAreReplaced(_ text: String, _ expected: String) {
        let (rewritten, isComplete) = Self.hidden(text)
        #expect(rewritten == expected && isComplete)
    }

    @Test(
        arguments: [
            (#"{"a":1,"secret":"abc"#, #"{"a":1,"secret":"X""#), (#"{"secret" "a"}"#, "{"),
            (#"{"a":oops"#, #"{"a":"#),
            (#"{"a":1 "secret":"b"}"#, #"{"a":1 "#), (#"{"a":"b"#, #"{"a":"#), ("[1,]", "[1,"), ("{]", "{"),
            ("<html>", ""),
            (#"{"a":1}}"#, #"{"a":1}"#), ("[1", "[1"),
        ])
    func whatIsNoJSONIsLeftOut(_ text: String, _ expected: String) {
        let (rewritten, isComplete) = Self.hidden(text)
        #expect(rewritten == expected && !isComplete)
    }

    @Test func thePathLeadsToTheValue() {
        var paths: [[Component]] = []
        _ = JSONRewriter.rewritten(#"{"a":[1,{"b":"c"},[2]],"d":null}"#) { path, kind in
            if kind != .object, kind != .array { paths.append(path) }
            return nil
        }
        #expect(
            paths == [
                [.key("a"), .index(0)], [.key("a"), .index(1), .key("b")], [.key("a"), .index(2), .index(0)],
                [.key("d")],
            ])
    }

    @Test func aContainerIsReplacedAsAWhole() {
        let (text, isComplete) = JSONRewriter.rewritten(#"{"a":{"b":[1,"]"]},"c":2}"#) { path, _ in
            path == [.key("a")] ? "0" : nil
        }
        #expect(text == #"{"a":0,"c":2}"# && isComplete)
    }

    /// Wherever a text is cut, no part of a secret is left.
    @Test func noPartOfASecretIsLeft() {
        let text = #"{"a":["x",{"secret":"s3cr\u0065t"}],"secret":["s3cret",{"b":"\"s3cret"}]}"#
        for count in 0...text.utf8.count {
            let cut = String(decoding: Array(text.utf8.prefix(count)), as: UTF8.self)
            #expect(!Self.hidden(cut).text.contains("s3"), "cut after \(count) bytes")
        }
    }

    @Test(arguments: 0..<64 as Range<UInt64>)
    func anyTextIsReadToItsEnd(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let pieces = ["{", "}", "[", "]", "\"", "\\", ":", ",", " ", "1", "true", "secret", "é", "\0"].map {
            Array($0.utf8)
        }
        let text = String(decoding: Cuts.bytes(of: pieces, upTo: 500, &random), as: UTF8.self)
        let (kept, isComplete) = JSONRewriter.rewritten(text) { _, _ in nil }
        #expect(text.utf8.starts(with: kept.utf8))
        #expect(!isComplete || kept.utf8.elementsEqual(text.utf8))
    }

    /// Deep nesting takes no stack.
    @Test func deepNestingIsRead() {
        let depth = 200_000
        let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        let (kept, isComplete) = JSONRewriter.rewritten(text) { _, _ in nil }
        #expect(isComplete && kept.utf8.count == 2 * depth)
    }

    // MARK: Marked names

    @Test(arguments: [
        (#"{"a":{"b":["x",{"c":"y"}],"d":1},"e":"z"}"#, #"{"a":{"b":[_,{"c":_}],"d":1},"e":"z"}"#),
        (#"[{"a":"x"},{"b":"y"},"z"]"#, #"[{"a":_},{"b":"y"},"z"]"#),
        (#"{"a":{"a":"x"},"b":{"a":{},"c":"y"}}"#, #"{"a":{"a":_},"b":{"a":{},"c":"y"}}"#),
        (#"{"a":"x"} {"b":"y"} "z""#, #"{"a":_} {"b":"y"} "z""#),
    ])
    func stringsUnderAMarkedNameAreReplaced(_ text: String, _ expected: String) {
        let (rewritten, isComplete) = JSONRewriter.rewritten(text, replacingStringsWith: "_") { $0 == "a" }
        #expect(rewritten == expected && isComplete)
    }

    @Test func numbersUnderNamesThatMarkThemAreZero() {
        let text = #"{"a":{"b":[1,"x",{"c":-2.5e3}],"d":true},"b":3,"e":{"a":"y","c":4}}"#
        let (rewritten, isComplete) = JSONRewriter.rewritten(
            text, replacingStringsWith: "_", where: { $0 == "a" }, numbersWhere: { $0 == "b" })
        #expect(rewritten == #"{"a":{"b":[0,_,{"c":0}],"d":true},"b":0,"e":{"a":_,"c":4}}"# && isComplete)
    }

    /// A look at the whole path for each string would take hours.
    @Test(.timeLimit(.minutes(3))) func manyStringsInDeepNestingAreRead() {
        let text = String(repeating: "[", count: 100_000) + String(repeating: #""","#, count: 100_000)
        #expect(BodyRedaction.redacted(text, type: "application/json").0 == text)
    }
}
