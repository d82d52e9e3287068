import Testing

@testable import Trellis

/// Lines, however their bytes are cut.
struct LineSplitterTests {
    /// All lines of bytes that come in these pieces.
    static func lines(_ pieces: [[UInt8]], limit: Int = 1000) throws -> [String] {
        var splitter = LineSplitter(limit: limit)
        var lines: [String] = []
        for piece in pieces {
            splitter.append(piece)
            while let line = try splitter.next() { lines.append(line) }
        }
        if let last = splitter.finish() { lines.append(last) }
        return lines
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let text: String
        let lines: [String]
        init(_ text: String, _ lines: [String]) { (self.text, self.lines) = (text, lines) }
        var testDescription: String { text.debugDescription }
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
    ]

    @Test(arguments: rows)
    func linesEndWithEachOfTheThreeEnds(_ row: Row) throws {
        #expect(try Self.lines([Array(row.text.utf8)]) == row.lines)
    }

    @Test(arguments: rows)
    func byteByByteIsTheSame(_ row: Row) throws {
        #expect(try Self.lines(row.text.utf8.map { [$0] }) == row.lines)
    }

    @Test(arguments: rows)
    func everyCutInTwoIsTheSame(_ row: Row) throws {
        let bytes = Array(row.text.utf8)
        for cut in 0...bytes.count {
            #expect(try Self.lines([Array(bytes[..<cut]), Array(bytes[cut...])]) == row.lines, "cut at \(cut)")
        }
    }

    @Test(arguments: 0..<100)
    func randomTextCutAtRandomIsTheSame(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let alphabet: [UInt8] = [10, 13, 10, 13, 97, 98, 0xC3, 0xBC, 0xFF, 0]
        let bytes = (0..<Int.random(in: 0..<200, using: &random)).map { _ in
            alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
        }
        let whole = try Self.lines([bytes])
        #expect(whole == Self.model(bytes))
        for _ in 0..<10 {
            var pieces: [[UInt8]] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Int.random(in: 0...min(9, rest.count), using: &random)
                pieces.append(Array(rest.prefix(count)))
                rest = rest.dropFirst(count)
            }
            #expect(try Self.lines(pieces) == whole, "pieces \(pieces)")
        }
    }

    /// The obvious way, which needs all the bytes at once.
    private static func model(_ bytes: [UInt8]) -> [String] {
        var lines: [[UInt8]] = [[]]
        var index = 0
        while index < bytes.count {
            if bytes[index] == 13, index + 1 < bytes.count, bytes[index + 1] == 10 { index += 1 }
            if bytes[index] == 10 || bytes[index] == 13 {
                lines.append([])
            } else {
                lines[lines.count - 1].append(bytes[index])
            }
            index += 1
        }
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines.map { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: Limit

    @Test(arguments: [[5], [2, 3], [1, 1, 1, 1, 1]])
    func aLineOfExactlyTheLimitIsALine(_ sizes: [Int]) throws {
        let pieces = sizes.map { [UInt8](repeating: 97, count: $0) } + [[10]]
        #expect(try Self.lines(pieces, limit: 5) == ["aaaaa"])
    }

    @Test(arguments: [[6], [2, 4], [5, 1]])
    func oneByteMoreIsAnErrorWithoutAnEndInSight(_ sizes: [Int]) {
        let pieces = sizes.map { [UInt8](repeating: 97, count: $0) }
        #expect(throws: TrellisError.self) { try Self.lines(pieces, limit: 5) }
        let error = #expect(throws: TrellisError.self) { try Self.lines(pieces + [[10]], limit: 5) }
        #expect(error?.kind == .bodyTooLarge)
    }
}
