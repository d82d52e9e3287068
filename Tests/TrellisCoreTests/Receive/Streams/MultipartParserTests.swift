import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The parts of multipart bodies (RFC 2046, section 5.1) do not depend on how the bytes are cut.
struct MultipartParserTests {
    struct Part: Equatable, Sendable {
        var head: [String]
        var body: String
        var isWhole = true
        init(_ head: [String], _ body: String, isWhole: Bool = true) {
            (self.head, self.body, self.isWhole) = (head, body, isWhole)
        }
        init(_ body: String, isWhole: Bool = true) { self.init([], body, isWhole: isWhole) }
    }

    /// Returns the parts that have arrived, with the pieces of each body joined.
    static func parts(_ pieces: [MultipartParser.Piece]) -> [Part] {
        var parts: [Part] = []
        for piece in pieces {
            switch piece {
            case .head(let fields):
                parts.append(Part(fields.map { "\($0.name.rawName): \($0.value)" }, "", isWhole: false))
            case .bytes(let bytes): parts[parts.count - 1].body += String(decoding: bytes, as: UTF8.self)
            case .end: parts[parts.count - 1].isWhole = true
            }
        }
        return parts
    }

    static func parser(_ boundary: String = "b", limit: Int = 200, mayStop: Bool = false) -> MultipartParser {
        MultipartParser(MultipartDelimiter(boundary.utf8), maximumHeadSize: limit, mayStopAnywhere: mayStop)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let text: String
        let parts: [Part]
        let kind: TrellisError.Kind?
        init(_ name: String, _ text: String, _ parts: [Part], _ kind: TrellisError.Kind? = nil) {
            (self.name, self.text, self.parts, self.kind) = (name, text, parts, kind)
        }
        var testDescription: String { name }
    }

    static let rows = [
        Row(
            "the RFC's example",
            "This is the preamble.\r\n--b\r\n\r\nimplicitly typed\r\n--b\r\nContent-type: text/plain\r\n\r\n"
                + "It DOES end with a linebreak.\r\n\r\n--b--\r\n\r\nThis is the epilogue.\r\n--b\r\n\r\nno part",
            [
                Part("implicitly typed"),
                Part(["Content-type: text/plain"], "It DOES end with a linebreak.\r\n"),
            ]),
        Row("nothing before and after", "--b\r\nA: 1\r\n\r\nx\r\n--b--", [Part(["A: 1"], "x")]),
        Row("line feeds alone", "--b\nA: 1\n\nx\n\ny\r\n--b\n\nz\n--b--\n", [Part(["A: 1"], "x\n\ny"), Part("z")]),
        Row(
            "empty bodies", "--b\r\n\r\n\r\n--b\r\nA: 1\r\n\r\n--b\r\n\r\n--b--",
            [Part(""), Part(["A: 1"], ""), Part("")]),
        Row("white space after a boundary", "--b \t\r\n\r\nx\r\n--b-- \t\r\n", [Part("x")]),
        Row(
            "what only looks like a boundary",
            "--bb\r\n--b\r\n\r\n-\r\n--\r\n--c\r\n--bc\r\n--b-\r\n--b-x\r\n--b x\r\n--b\r--b\r\n -\r\n--b--x\r\nx--b\r\n--b--",
            [Part("-\r\n--\r\n--c\r\n--bc\r\n--b-\r\n--b-x\r\n--b x\r\n--b\r--b\r\n -\r\n--b--x\r\nx--b")]),
        Row("carriage returns", "--b\r\n\r\n\r\r\r\n\r\r\n--b--", [Part("\r\r\r\n\r")]),
        Row(
            "fields: folded, without a space, beyond ASCII, repeated",
            "--b\r\nA:1\r\nB: x\r\n  y\r\n\tz\r\nC: ü\r\nA:  2 \r\n\r\n\r\n--b--",
            [Part(["A: 1", "B: x y z", "C: ü", "A: 2"], "")]),
        Row(
            "no last boundary", "--b\r\n\r\nx\r\n--b\r\n\r\nyz", [Part("x"), Part("yz", isWhole: false)], .truncatedBody
        ),
        Row(
            "no last boundary but its beginning", "--b\r\n\r\nx\r\n--b-", [Part("x\r\n--b-", isWhole: false)],
            .truncatedBody),
        Row(
            "a boundary that is cut before its line end", "--b\r\n\r\nx\r\n--b \r",
            [Part("x\r\n--b \r", isWhole: false)], .truncatedBody),
        Row("an end within a head", "--b\r\n\r\nx\r\n--b\r\nA: 1", [Part("x")], .truncatedBody),
        Row("no boundary at all", "x\r\ny", [], .truncatedBody),
        Row("nothing at all", "", [], .truncatedBody),
        Row("no parts", "--b--\r\n", []),
        Row("a line that is no field", "--b\r\nA: 1\r\nno field\r\n\r\nx\r\n--b--", [], .serialization),
        Row("a field without a name", "--b\r\n\r\nx\r\n--b\r\n: 1\r\n\r\ny\r\n--b--", [Part("x")], .serialization),
        Row("a name with a space", "--b\r\nA : 1\r\n\r\nx\r\n--b--", [], .serialization),
    ]

    @Test(arguments: rows)
    func partsAreTheSameHoweverTheyAreCut(_ row: Row) {
        for pieces in Cuts.all(Array(row.text.utf8)) {
            let run = MachineRun(Self.parser(), pieces)
            #expect(Self.parts(run.outputs) == row.parts, "\(pieces)")
            #expect(run.kind == row.kind, "\(pieces)")
        }
    }

    @Test(arguments: ["b", "bb", "-", "--", "- "], 0..<30)
    func randomBodiesCutAtRandomAreTheSame(_ boundary: String, _ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let alphabet = [
            "\r\n--\(boundary)\r\n", "\r\n--\(boundary)--", "\n--\(boundary)\n", boundary, "-", "--", "\r", "\n",
            "\r\n", " ", "A: 1\r\n", "\r\n\r\n", "x", ":",
        ]
        let bytes = Cuts.bytes(of: alphabet.map { Array($0.utf8) }, upTo: 60, &random)
        for mayStop in [false, true] {
            let whole = MachineRun(Self.parser(boundary, mayStop: mayStop), [bytes])
            for _ in 0..<10 {
                let pieces = Cuts.random(bytes, longest: 7, &random)
                let run = MachineRun(Self.parser(boundary, mayStop: mayStop), pieces)
                #expect(Self.parts(run.outputs) == Self.parts(whole.outputs), "\(pieces)")
                #expect(run.kind == whole.kind, "\(pieces)")
            }
        }
    }

    @Test(arguments: [
        ("--b\r\n\r\nx\r\n--b\r\n\r\nyz", [Part("x"), Part("yz")]), ("--b\r\n\r\nx\r\n--b-", [Part("x\r\n--b-")]),
        ("--b\r\n\r\nx\r\n--b\r\nA: 1", [Part("x")]), ("--b\r\n\r\nx\r", [Part("x\r")]), ("", []),
    ])
    func whatReplacesItselfMayStopAnywhere(_ text: String, _ parts: [Part]) {
        for pieces in Cuts.all(Array(text.utf8)) {
            let run = MachineRun(Self.parser(mayStop: true), pieces)
            #expect(Self.parts(run.outputs) == parts, "\(pieces)")
            #expect(run.failure == nil)
        }
    }

    @Test func bytesAreHandedOnAtOnceButForWhatMayBeABoundary() throws {
        var parser = Self.parser()
        var pieces: [MultipartParser.Piece] = []
        parser.append(Data("--b\r\n\r\nabc\r\n--".utf8))
        try parser.fill(&pieces)
        #expect(pieces == [.head([:]), .bytes(Data("abc".utf8))])
        parser.append(Data("x".utf8))
        pieces = []
        try parser.fill(&pieces)
        #expect(pieces == [.bytes(Data("\r\n--x".utf8))])
    }

    // MARK: Limits

    @Test(arguments: [1, 5, 1000])
    func aHeadAboveTheLimitIsAnError(_ length: Int) {
        for head in ["A: \(String(repeating: "x", count: 100))", String(repeating: "A: 1\r\n", count: 20)] {
            let bytes = Array("--b\r\n\r\nx\r\n--b\r\n\(head)\r\n\r\n".utf8)
            let pieces = stride(from: 0, to: bytes.count, by: length).map {
                Array(bytes[$0..<min($0 + length, bytes.count)])
            }
            let run = MachineRun(Self.parser(limit: 50), pieces)
            #expect(Self.parts(run.outputs) == [Part("x")])
            #expect(run.kind == .bodyTooLarge)
        }
    }

    @Test(arguments: [1, 1000])
    func aHeadOfExactlyTheLimitIsAHead(_ length: Int) {
        let bytes = Array("--b\r\nA: 1\r\n\r\nx\r\n--b--".utf8)
        let pieces = stride(from: 0, to: bytes.count, by: length).map {
            Array(bytes[$0..<min($0 + length, bytes.count)])
        }
        #expect(Self.parts(MachineRun(Self.parser(limit: 8), pieces).outputs) == [Part(["A: 1"], "x")])
        #expect(MachineRun(Self.parser(limit: 7), pieces).kind == .bodyTooLarge)
    }

    @Test(arguments: [1, 1000])
    func endlessPaddingIsNoBoundary(_ length: Int) {
        let line = "--b" + String(repeating: " ", count: MultipartDelimiter.maximumPadding + 1)
        let bytes = Array("--b\r\n\r\n\(line)\r\n--b--".utf8)
        let pieces = stride(from: 0, to: bytes.count, by: length).map {
            Array(bytes[$0..<min($0 + length, bytes.count)])
        }
        #expect(Self.parts(MachineRun(Self.parser(), pieces).outputs) == [Part(line)])
    }

    // MARK: Content-Type

    @Test(
        arguments: [
            ("multipart/mixed; boundary=b", nil), ("Multipart/X-Mixed-Replace;charset=x; BOUNDARY=\"b\"", nil),
            ("multipart/byteranges ; x=\";boundary=c\"; boundary=b ", nil), ("multipart/mixed; boundary=\"\\b\"", nil),
            ("multipart/mixed; boundary = b", nil), ("multipart/mixed; boundary= \"b\"", nil),
            ("multipart/mixed; charset = \" boundary=c\" ; boundary \t=\t b ;x", nil),
            ("multipart/mixed; boundary= ;b", .serialization), ("multipart/mixed; bound ary=b", .serialization),
            ("multipart/mixed", .serialization), ("multipart/mixed; boundary=", .serialization),
            ("multipart/mixed; boundary=\"\"", .serialization), ("multipart/mixed; xboundary=b", .serialization),
            ("multipart/mixed; boundary=\(String(repeating: "b", count: 257))", .serialization),
            ("text/plain; boundary=b", .unacceptableContentType), ("", .unacceptableContentType),
            (nil, .unacceptableContentType),
        ] as [(String?, TrellisError.Kind?)])
    func theBoundaryIsInTheContentType(_ type: String?, _ failure: TrellisError.Kind?) throws {
        guard let failure else {
            let boundary = try MultipartDelimiter(contentType: type)
            #expect(boundary.match(Array("--b\r\n".utf8), at: 0, isComplete: false) == .line(length: 5, isLast: false))
            return
        }
        let error = #expect(throws: TrellisError.self) { try MultipartDelimiter(contentType: type) }
        #expect(error?.kind == failure)
    }

    /// `HTTPFields` traps beyond 65,535 fields.
    @Test func aHeadWithTooManyFieldsIsAnError() throws {
        let line = Array("a:\n".utf8)
        let head = { (count: Int) in (0..<count).flatMap { _ in line } }
        #expect(try HTTPFields(partHead: head(10_000)[...]).count == 10_000)
        #expect { try HTTPFields(partHead: head(70_000)[...]) } throws: {
            ($0 as? TrellisError)?.kind == .serialization
        }
    }
}
