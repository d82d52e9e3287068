import CurlEngine
import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The lines of a body do not depend on how the bytes are cut.
struct LineSplitterTests {
    /// Returns all lines of a body that comes in these pieces.
    static func lines(_ pieces: [[UInt8]], _ ends: LineEnding = .standard, limit: Int = 1000) throws -> [String] {
        var splitter = LineSplitter(endingAt: ends, limit: limit)
        var lines: [String] = []
        for piece in pieces {
            splitter.append(Data(piece))
            while let line = try splitter.next({ String(utf8: $0) }) {
                lines.append(line)
            }
        }
        if let last = try splitter.finish() { lines.append(String(decoding: last, as: UTF8.self)) }
        return lines
    }

    /// A byte order mark is no part of the text, however the bytes are cut; anywhere else, the character is one.
    @Test(arguments: [
        ("\u{FEFF}one\n\u{FEFF}two", ["one", "\u{FEFF}two"]), ("\u{FEFF}", []), ("\u{FEFF}\n", [""]),
        ("\u{FEFF}end", ["end"]),
        ("\u{FEFF}\u{FEFF}a\n", ["\u{FEFF}a"]),
    ])
    func aMarkAtTheBeginningIsNoPartOfTheFirstLine(_ text: String, _ lines: [String]) {
        for pieces in Cuts.all(Array(text.utf8)) {
            let run = MachineRun(LineParser<String>(endingAt: .standard, limit: 1000), pieces)
            #expect(run.outputs.map { Array($0.utf8) } == lines.map { Array($0.utf8) }, "\(pieces)")
        }
        let whole = MachineRun(LineParser<[UInt8]>(endingAt: .standard, limit: 1000), [Array("\u{FEFF}a\n".utf8)])
        #expect(whole.outputs == [Array("\u{FEFF}a".utf8)])
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let text: String
        let ends: LineEnding
        let lines: [String]
        init(_ text: String, _ lines: [String], _ ends: LineEnding = .standard) {
            (self.text, self.lines, self.ends) = (text, lines, ends)
        }
        var testDescription: String { "\(text.debugDescription) \(ends)" }
    }

    static let rows: [Row] = [
        Row("", []),
        Row("one", ["one"]),
        Row("one\n", ["one"]),
        Row("one\ntwo", ["one", "two"]),
        Row("one\r\ntwo\r\n", ["one", "two"]),
        Row("one\rtwo\r", ["one", "two"]),
        Row("\n", [""]),
        Row("\r\n", [""]),
        Row("\r\r\n\n", ["", "", ""]),
        Row("\n\r", ["", ""]),
        Row("a\n\nb", ["a", "", "b"]),
        Row("a\r\n\r\nb", ["a", "", "b"]),
        Row("grün\nblå\n日本\n", ["grün", "blå", "日本"]),
        Row("next line\u{85}and\u{2028}separators\u{0B}stay", ["next line\u{85}and\u{2028}separators\u{0B}stay"]),
        Row("\0\n", ["\0"]),
        Row("one\rstill one\r\ntwo\n\r\nend\r", ["one\rstill one", "two", "", "end\r"], .lineFeed),
        Row("\r\r\n", ["\r"], .lineFeed),
        Row("\r", ["\r"], .lineFeed),
        Row("1\u{85}2\u{2028}3\u{2029}4\r\n5\r6\n7\u{0B}", ["1", "2", "3", "4", "5", "6", "7\u{0B}"], .unicode),
        Row("\u{85}\u{2028}\u{2029}", ["", "", ""], .unicode),
        Row("\u{2027}\u{202A}\u{84}\u{86}â\u{A8}", ["\u{2027}\u{202A}\u{84}\u{86}â\u{A8}"], .unicode),
        Row("\r\u{85}\n\u{2028}\r\n", ["", "", "", "", ""], .unicode),
    ]

    @Test(arguments: rows)
    func linesEndWithTheirEndsAlone(_ row: Row) throws {
        #expect(try Self.lines([Array(row.text.utf8)], row.ends) == row.lines)
    }

    @Test(arguments: rows)
    func everyCutIsTheSame(_ row: Row) throws {
        for pieces in Cuts.all(Array(row.text.utf8)) {
            #expect(try Self.lines(pieces, row.ends) == row.lines, "\(pieces)")
        }
    }

    @Test(arguments: LineEnding.allCases, 0..<UInt64(Scale.count(25, all: 60)))
    func randomTextCutAtRandomIsTheSame(_ ends: LineEnding, _ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let alphabet: [[UInt8]] = [
            [10], [13], [13, 10], [97], [98], [0xC3, 0xBC], [0xFF], [0], [0xC2], [0x85], [0xC2, 0x85], [0xE2],
            [0xE2, 0x80],
            [0xE2, 0x80, 0xA8], [0xE2, 0x80, 0xA9], [0xA8], [0x80],
        ]
        let bytes = Cuts.bytes(of: alphabet, upTo: 200, &random)
        let whole = Self.model(bytes, ends)
        #expect(try Self.lines([bytes], ends) == whole)
        for _ in 0..<10 {
            let pieces = Cuts.random(bytes, longest: 9, &random)
            #expect(try Self.lines(pieces, ends) == whole, "pieces \(pieces)")
        }
    }

    /// Returns the lines as a plain parser finds them, which needs all the bytes at once.
    private static func model(_ bytes: [UInt8], _ ends: LineEnding) -> [String] {
        let all: [[UInt8]] =
            switch ends {
            case .standard: [[13, 10], [10], [13]]
            case .lineFeed: [[13, 10], [10]]
            case .unicode: [[13, 10], [10], [13], [0xC2, 0x85], [0xE2, 0x80, 0xA8], [0xE2, 0x80, 0xA9]]
            }
        var lines: [[UInt8]] = [[]]
        var rest = bytes[...]
        while let byte = rest.first {
            if let end = all.first(where: { rest.starts(with: $0) }) {
                lines.append([])
                rest = rest.dropFirst(end.count)
            } else {
                lines[lines.count - 1].append(byte)
                rest = rest.dropFirst()
            }
        }
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines.map { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: Limit

    @Test(arguments: [[5], [2, 3], [1, 1, 1, 1, 1]], LineEnding.allCases)
    func aLineOfExactlyTheLimitIsALine(_ sizes: [Int], _ ends: LineEnding) throws {
        let pieces = sizes.map { [UInt8](repeating: 97, count: $0) } + [[13], [10]]
        #expect(try Self.lines(pieces, ends, limit: 5) == ["aaaaa"])
    }

    @Test(arguments: [[6], [2, 4], [5, 1]], LineEnding.allCases)
    func oneByteMoreIsAnErrorWithoutAnEndInSight(_ sizes: [Int], _ ends: LineEnding) {
        let pieces = sizes.map { [UInt8](repeating: 97, count: $0) }
        #expect(throws: TrellisError.self) { try Self.lines(pieces, ends, limit: 5) }
        let error = #expect(throws: TrellisError.self) { try Self.lines(pieces + [[10]], ends, limit: 5) }
        #expect(error?.kind == .bodyTooLarge)
    }

    @Test(arguments: [("aaaaa\r", LineEnding.lineFeed), ("aaaaa\u{2029}", .standard)])
    func whatTurnsOutToBeNoEndCounts(_ text: String, _ ends: LineEnding) {
        for pieces in Cuts.all(Array(text.utf8)) {
            #expect(throws: TrellisError.self) { try Self.lines(pieces, ends, limit: 5) }
        }
    }

    @Test(arguments: [("aaaaa\u{85}", 1), ("aaaaa\u{2029}", 1), ("aaaaa\u{2029}", 2)])
    func anEndThatIsCutInTwoIsNoPartOfItsLine(_ text: String, _ taken: Int) throws {
        let bytes = Array(text.utf8)
        let pieces = [Array(bytes[..<(5 + taken)]), Array(bytes[(5 + taken)...])]
        #expect(try Self.lines(pieces, .unicode, limit: 5) == ["aaaaa"])
    }
}
