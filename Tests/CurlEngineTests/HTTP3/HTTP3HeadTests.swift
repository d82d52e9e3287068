import Testing

@testable import CurlEngine

/// Heads are parsed as libcurl delivers them over HTTP/3, line by line, and malformed lines are refused.
struct HTTP3HeadTests {
    // MARK: Status lines

    @Test(
        arguments: [
            ("HTTP/1.1 200 OK", .http1_1, 200, "OK"), ("HTTP/1.0 200 OK", .http1_0, 200, "OK"),
            ("HTTP/1.1 200", .http1_1, 200, ""), ("HTTP/1.1 200 ", .http1_1, 200, ""),
            ("HTTP/1.1 404 Not Found", .http1_1, 404, "Not Found"), ("HTTP/2 200 ", .http2, 200, ""),
            ("HTTP/2 200", .http2, 200, ""), ("HTTP/3 200 ", .http3, 200, ""), ("HTTP/1.1 999 x", .http1_1, 999, "x"),
            ("HTTP/1.1 600 Odd", .http1_1, 600, "Odd"), ("HTTP/1.1 200 schön", .http1_1, 200, "schön"),
        ] as [(String, WireVersion, Int, String)])
    func aStatusLine(_ line: String, _ version: WireVersion, _ status: Int, _ reason: String) throws {
        let head = try #require(try ParsedLines("\(line)\r\n\r\n").final)
        #expect(head.version == version)
        #expect(head.status == status)
        #expect(head.reason == reason)
    }

    @Test(arguments: [
        "", "garbage", "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1 20", "HTTP/1.1 2000 OK", "HTTP/1.1 2x0 OK",
        "HTTP/1.1  200 OK",
        "HTTP/1.1 -20 OK", "HTTP/1.2 200 OK", "HTTP/0.9 200 OK", "http/1.1 200 OK", "HTTP/1.1\t200 OK",
        "HTTP/11 200 OK",
        "HTTP/1.1 200OK", "HTTP/1.1 200 a\0b", "ICY 200 OK", " HTTP/1.1 200 OK", "HTTP/4 200", "HTTP/1.1 ２00 OK",
        "HTTP/1.1 200 a\rb",
    ])
    func noStatusLine(_ line: String) {
        #expect { try ParsedLines("\(line)\r\n\r\n") } throws: { error in
            if case .badStatusLine = error as? HeadFailure { true } else { false }
        }
    }

    @Test(arguments: [0, 1, 99, 101])
    func aStatusThatCannotBe(_ status: Int) {
        let digits = String(repeating: "0", count: 3 - String(status).count) + String(status)
        #expect(throws: HeadFailure.unexpectedStatus(status)) { try ParsedLines("HTTP/1.1 \(digits) x\r\n\r\n") }
    }

    // MARK: Fields

    @Test(arguments: [
        ("Name: value", "Name:value"), ("Name:value", "Name:value"), ("Name: \t value \t ", "Name:value"),
        ("Name:", "Name:"),
        ("Name: a: b", "Name:a: b"), ("!#$%&'*+-.^_`|~09azAZ: x", "!#$%&'*+-.^_`|~09azAZ:x"),
        ("Name: grün", "Name:grün"),
        ("Name: a\u{1}b\u{7f}", "Name:a\u{1}b\u{7f}"), ("HTTP2-Settings: x", "HTTP2-Settings:x"),
    ])
    func aField(_ line: String, _ field: String) throws {
        let head = try #require(try ParsedLines("HTTP/1.1 200 OK\r\n\(line)\r\n\r\n").final)
        #expect(ParsedLines.text(head.fields) == [field])
    }

    @Test(arguments: [
        "no colon", ": no name", "na me: x", "name : x", "na\0me: x", "name: a\0b", "name: a\rb", "größe: x",
        "na(me: x",
        "na/me: x", "\"name\": x", "name", "na\tme: x", "\u{7f}: x",
    ])
    func noField(_ line: String) {
        #expect { try ParsedLines("HTTP/1.1 200 OK\r\n\(line)\r\n\r\n") } throws: { error in
            if case .badFieldLine = error as? HeadFailure { true } else { false }
        }
    }

    @Test func fieldsKeepTheirOrderAndRepeat() throws {
        let head = try #require(try ParsedLines("HTTP/1.1 200 OK\r\nA: 1\r\nB: 2\r\na: 3\r\n\r\n").final)
        #expect(ParsedLines.text(head.fields) == ["A:1", "B:2", "a:3"])
        #expect(head.fields.count == 3)
    }

    @Test func linesMayEndWithALineFeedAlone() throws {
        let head = try #require(try ParsedLines("HTTP/1.1 200 OK\nA: 1\n\n").final)
        #expect(head.reason == "OK")
        #expect(ParsedLines.text(head.fields) == ["A:1"])
    }

    // MARK: Folding

    @Test(arguments: [
        ("A: 1\r\n 2", "A:1 2"), ("A: 1\r\n\t2\r\n  3", "A:1 2 3"), ("A: 1\r\n ", "A:1 "), ("A:\r\n x", "A:x"),
    ])
    func aFoldedFieldIsOneField(_ lines: String, _ field: String) throws {
        let head = try #require(try ParsedLines("HTTP/1.1 200 OK\r\n\(lines)\r\n\r\n").final)
        #expect(ParsedLines.text(head.fields) == [field])
        #expect(head.fields.count == 1)
    }

    @Test(arguments: [" first: x", "\tfirst: x", "A: 1\r\n a\0b"])
    func aFoldThatContinuesNothingOrHoldsNUL(_ lines: String) {
        #expect(throws: HeadFailure.self) { try ParsedLines("HTTP/1.1 200 OK\r\n\(lines)\r\n\r\n") }
    }

    @Test(arguments: ["Content-Length: 1\r\n 2", "Content-Length:\r\n 12", "Transfer-Encoding:\r\n chunked"])
    func foldingDoesNotHideTheFraming(_ lines: String) throws {
        // A parser that leaves such lines folded reads another message than a parser that unfolds them (RFC 9112, section 5.2).
        let parsed = try? ParsedLines("HTTP/1.1 200 OK\r\n\(lines)\r\n\r\n")
        #expect(parsed == nil || parsed?.contentLength == 12)
    }

    // MARK: Many heads

    @Test func informationalHeadsComeFirstEachWithItsOwnFields() throws {
        let parsed = try ParsedLines(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nB: 2\r\n\r\n")
        #expect(parsed.informational.map(\.status) == [100, 103])
        #expect(parsed.informational.map { ParsedLines.text($0.fields) } == [[], ["Link:a"]])
        #expect(parsed.final.map { ParsedLines.text($0.fields) } == ["B:2"])
    }

    @Test func theFramingOfAnInformationalHeadIsNotTheFinalOnes() throws {
        let parsed = try ParsedLines(
            "HTTP/1.1 103 x\r\nContent-Length: 5\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n")
        #expect(parsed.contentLength == 7)
    }

    @Test func trailersAreNotFields() throws {
        let parsed = try ParsedLines("HTTP/1.1 200 OK\r\nA: 1\r\n\r\nB: 2\r\nC: 3\r\n\r\n")
        #expect(parsed.final.map { ParsedLines.text($0.fields) } == ["A:1"])
        #expect(ParsedLines.text(parsed.trailers) == ["B:2", "C:3"])
    }

    @Test(arguments: ["no colon", "a: \0", "na me: x"])
    func aBadTrailerIsABadField(_ line: String) {
        #expect(throws: HeadFailure.self) { try ParsedLines("HTTP/1.1 200 OK\r\n\r\n\(line)\r\n\r\n") }
    }

    @Test func aSecondFinalHeadIsRefused() {
        #expect(throws: HeadFailure.secondHead) {
            try ParsedLines("HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")
        }
    }

    @Test func aHeadThatIsCutShortIsNoHead() throws {
        let parsed = try ParsedLines("HTTP/1.1 200 OK\r\nA: 1\r\n")
        #expect(parsed.final == nil)
        #expect(!parsed.hasFinalHead)
    }
}
