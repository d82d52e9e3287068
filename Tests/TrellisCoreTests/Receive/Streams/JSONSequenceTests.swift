import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// JSON text sequences (RFC 7464).
struct JSONSequenceTests {
    enum Value: Decodable, Equatable, Sendable {
        case number(Int)
        case text(String)
        case bool(Bool)
        case null
        case list([Int])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .null
            } else if let number = try? container.decode(Int.self) {
                self = .number(number)
            } else if let bool = try? container.decode(Bool.self) {
                self = .bool(bool)
            } else if let text = try? container.decode(String.self) {
                self = .text(text)
            } else {
                self = .list(try container.decode([Int].self))
            }
        }
    }

    static func run(
        _ pieces: [[UInt8]], limit: Int = 1000, whenUndecodable: UndecodableElementHandler? = nil
    ) -> MachineRun<Value> {
        MachineRun(
            JSONSequenceFramer(limit: limit), ElementDecoder(JSONDecoder(), whenUndecodable: whenUndecodable), pieces)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let text: String
        let values: [Value]
        let isWhole: Bool
        init(_ text: String, _ values: [Value], isWhole: Bool = true) {
            (self.text, self.values, self.isWhole) = (text, values, isWhole)
        }
        var testDescription: String { text.debugDescription }
    }

    static let rows: [Row] = [
        Row("", []),
        Row("\u{1E}1\n\u{1E}[2,\n3]\n\u{1E}\"a\"\n", [.number(1), .list([2, 3]), .text("a")]),
        // Several separators in a row, and texts of white space alone, are ignored (section 2.1).
        Row("\u{1E}\u{1E}\n\u{1E} \n\u{1E}true\n", [.bool(true)]),
        // The line feed is optional after texts that delimit themselves, and elsewhere is white space like any other.
        Row("\u{1E}[1]\u{1E}\"x\"\u{1E}[2]", [.list([1]), .text("x"), .list([2])]),
        Row("\u{1E}12 \u{1E}null\t\u{1E}false\r", [.number(12), .null, .bool(false)]),
        // A number or literal that may have been cut short is dropped (section 2.4).
        Row("\u{1E}12\u{1E}tru\u{1E}3\n\u{1E}nul", [.number(3)]),
        Row("\u{1E}123", []),
        // Brackets, quotes and line feeds within strings are no structure.
        Row("\u{1E}\"]}\\\"[{\\\\\"\n\u{1E}[\n\n1\n]\n", [.text("]}\"[{\\"), .list([1])]),
        // An array or object that is cut short is an error.
        Row("\u{1E}1\n\u{1E}[2,\u{1E}3\n", [.number(1)], isWhole: false),
        Row("\u{1E}1\n\u{1E}\"x", [.number(1)], isWhole: false),
        Row("\u{1E}1\n\u{1E}]\n\u{1E}2\n", [.number(1)], isWhole: false),
        Row("\u{1E}1 2\n", [], isWhole: false),
    ]

    @Test(arguments: rows)
    func textsAreTheSameHoweverTheyAreCut(_ row: Row) {
        for pieces in Cuts.all(Array(row.text.utf8)) {
            let run = Self.run(pieces)
            #expect(run.outputs == row.values, "\(pieces)")
            #expect((run.failure == nil) == row.isWhole, "\(pieces)")
        }
    }

    @Test(arguments: 0..<60)
    func randomTextsCutAtRandomAreTheSame(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let alphabet = ["\u{1E}", "\u{1E}", "\n", "1", "[", "]", "\"", "\\", " ", "true", "ü"].map { Array($0.utf8) }
        let bytes = Cuts.bytes(of: alphabet, upTo: 60, &random)
        let whole = Self.run([bytes]) { _ in }
        for _ in 0..<10 {
            let run = Self.run(Cuts.random(bytes, longest: 5, &random)) { _ in }
            #expect(run.outputs == whole.outputs)
        }
    }

    @Test(arguments: [
        "[1,\n2]", "\"\\\"[{\"", "\"\\\\\"", "12",
    ])
    func aTextIsHandedOutAsSoonAsItsLineFeedHasCome(_ text: String) throws {
        var framer = JSONSequenceFramer(limit: 1000)
        framer.append(Data("\u{1E}\(text)".utf8))
        var texts: [RawElement] = []
        try framer.fill(&texts)
        #expect(texts == [])
        framer.append(Data("\n".utf8))
        try framer.fill(&texts)
        #expect(texts.map(\.bytes) == [Data("\(text)\n".utf8)])
    }

    @Test func anErrorNamesItsTextAndAHandlerGoesOn() throws {
        let bytes = Array("\u{1E}1\n\u{1E}{\n\u{1E}3\n".utf8)
        let error = try #require(Self.run([bytes]).failure as? TrellisError)
        let element = try #require(error.underlying as? UndecodableElement)
        #expect(element.unit == .text)
        #expect(element.number == 2)
        #expect(Self.run([bytes]) { _ in }.outputs == [.number(1), .number(3)])
    }

    @Test(arguments: [1, 3, 100])
    func aTextAboveTheLimitIsAnError(_ length: Int) {
        let bytes = Array("\u{1E}1\n\u{1E}\"\(String(repeating: "x", count: 100))".utf8)
        let pieces = stride(from: 0, to: bytes.count, by: length).map {
            Array(bytes[$0..<min($0 + length, bytes.count)])
        }
        let run = Self.run(pieces, limit: 50)
        #expect(run.outputs == [.number(1)])
        #expect(run.kind == .bodyTooLarge)
    }
}
