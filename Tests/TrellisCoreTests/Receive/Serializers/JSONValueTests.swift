import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// JSON without a Swift type of its own.
struct JSONValueTests {
    @Test(arguments: [
        "null", "true", "false", "0", "-0", "7", "-12", "1.5", "1.0", "1E2", "1e-2", "9007199254740993",
        "12345678901234567890",
        "\"\"", #""a""#, #""é€😀""#, #""\u00e9\ud83d\ude00\n\"\\\/""#, #""\u0000""#, "\"\u{7F}\"", "[]", "{}", "[1]",
        "[[],{}]", " [ 1 , 2 ] ",
        #"{"a":1,"b":[true,null],"c":{"d":"e"}}"#, #"{"a":1,"a":2}"#, #"{"é":1,"é":2}"#, "[1,]", #"{"a":1,}"#,
        "\u{FEFF}1", "\r\n\t 1",
    ])
    func aTextHasTheValueThatTheDecoderReads(_ text: String) throws {
        let json = Data(text.utf8)
        #expect(try JSONValue(json: json) == JSONDecoder().decode(JSONValue.self, from: json))
    }

    @Test(arguments: [
        "", " ", "nul", "nulls", "True", "truefalse", "01", "-", "+1", "1.", ".5", "1e", "1e+", "0x1", "1 2", "1,",
        "1e400", "-1e400", "NaN",
        "Infinity", "\"", #""\x""#, #""\u12""#, #""\ud800""#, "\"a\tb\"", "\"a\nb\"", "[", "]", "[1", "[1 2]", "[,1]",
        "[,]", "{", "}",
        #"{"a"}"#, #"{"a":}"#, #"{"a" 1}"#, "{1:2}", #"{"a":1 "b":2}"#, "{,}", "[}", "[1}", #"{"a":1]"#, "'a'", "/**/1",
        "\"a",
    ])
    func whatTheDecoderRefusesIsNoText(_ text: String) {
        let json = Data(text.utf8)
        #expect(throws: DecodingError.self) { try JSONValue(json: json) }
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(JSONValue.self, from: json) }
    }

    @Test(
        arguments: [[0x22, 0xFF, 0x22], [0x22, 0xC3, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0xFF], [0x00]] as [[UInt8]]
    )
    func bytesThatAreNotUTF8AreNoText(_ bytes: [UInt8]) {
        #expect(throws: DecodingError.self) { try JSONValue(json: Data(bytes)) }
    }

    @Test func randomTextsReadAsTheDecoderReadsThem() {
        var random = SeededGenerator(seed: 37)
        let pieces = [
            "[", "]", "{", "}", ",", ":", "\"a\"", "\"\"", "\"\\n\"", "1", "-", "0", ".5", "e3", "true", "null", " ",
            "\"é",
        ]
        for _ in 0..<(Scale.count(3_000, all: 100_000)) {
            let text = (0..<Int.random(in: 1...9, using: &random)).map { _ in pieces.randomElement(using: &random) ?? ""
            }.joined()
            let json = Data(text.utf8)
            #expect((try? JSONValue(json: json)) == (try? JSONDecoder().decode(JSONValue.self, from: json)), "\(text)")
        }
    }

    private static func nested(_ depth: Int, _ open: String, _ close: String) -> Data {
        Data((String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)).utf8)
    }

    @Test(arguments: [("[", "]"), (#"{"a":"#, "}")])
    func valuesAreNestedUpToALimit(open: String, close: String) throws {
        var value = try JSONValue(json: Self.nested(JSONValue.maximumNesting, open, close))
        for _ in 0..<JSONValue.maximumNesting { value = try #require(value[0] ?? value["a"]) }
        #expect(value == .integer(1))
        #expect(throws: DecodingError.self) {
            try JSONValue(json: Self.nested(JSONValue.maximumNesting + 1, open, close))
        }
    }

    @Test(arguments: [("[", "]"), (#"{"a":"#, "}")])
    func aDecoderReadsLessDeeply(open: String, close: String) throws {
        let decoder = JSONDecoder()
        _ = try decoder.decode(JSONValue.self, from: Self.nested(65, open, close))
        let error = #expect(throws: DecodingError.self) {
            try decoder.decode(JSONValue.self, from: Self.nested(66, open, close))
        }
        #expect(error?.reason.contains("depth of over 64") == true, "\(String(describing: error))")
    }

    @Test func serializersReadValuesAndProblemsWithoutTheDecoder() async throws {
        let depth = 500
        let deep = Self.nested(depth, #"{"a":"#, "}")
        let answer = Answer.test(400, body: deep)
        #expect(try await answer.read(DecodableResponseSerializer(JSONValue.self))["a"]?["a"] != nil)
        #expect(try await answer.read(DecodableResponseSerializer(ProblemDetails.self)).extensions["a"]?["a"] != nil)
        let other = JSONDecoder()
        other.allowsJSON5 = true
        let read = try await Answer.test(text: "[0x10]").read(
            DecodableResponseSerializer(JSONValue.self, decoder: other))
        #expect(read == .array([.integer(16)]))
    }
}
