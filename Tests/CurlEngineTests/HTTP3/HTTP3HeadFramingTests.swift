import Testing

@testable import CurlEngine

/// A head determines the length of its body, and the size of a head is limited.
struct HTTP3HeadFramingTests {
    private static func head(_ lines: String) -> String { "HTTP/1.1 200 OK\r\n\(lines)\r\n\r\n" }

    @Test(
        arguments: [
            ("Content-Length: 0", 0), ("Content-Length: 5", 5), ("CONTENT-LENGTH:5", 5), ("content-length: 5, 5", 5),
            ("Content-Length: 5\r\nContent-Length: 5", 5), ("Content-Length: 005", 5),
            ("Content-Length: 999999999999999999", 999_999_999_999_999_999), ("Content-Type: 5", nil),
            ("X-Content-Length: 5", nil),
            ("Content-Lengthy: 5", nil),
        ] as [(String, Int64?)])
    func theLengthOfTheBody(_ lines: String, _ length: Int64?) throws {
        #expect(try ParsedLines(Self.head(lines)).contentLength == length)
    }

    @Test(arguments: [
        "Content-Length: 5\r\nContent-Length: 6", "Content-Length: 5, 6",
        "Content-Length: 5\r\nX: y\r\ncontent-length: 6",
        "Content-Length: 0\r\nContent-Length: 5",
    ])
    func twoDifferentLengths(_ lines: String) {
        #expect(throws: HeadFailure.conflictingContentLength) { try ParsedLines(Self.head(lines)) }
    }

    @Test(arguments: [
        "-1", "+5", "5.0", "0x5", "5 5", "", " ", "five", "9999999999999999999", "18446744073709551616",
        "99999999999999999999999999999999", "5,", ",5", "5;", "1e3", "٥",
    ])
    func noLength(_ value: String) {
        #expect { try ParsedLines(Self.head("Content-Length: \(value)")) } throws: { error in
            if case .badContentLength = error as? HeadFailure { true } else { false }
        }
    }

    // MARK: Size

    @Test func aHeadOfExactlyTheLimitIsAHead() throws {
        let head = Self.head("A: 1")
        #expect(try ParsedLines(head, limit: head.utf8.count).final != nil)
        #expect(throws: HeadFailure.tooLarge(limit: head.utf8.count - 1)) {
            try ParsedLines(head, limit: head.utf8.count - 1)
        }
    }

    @Test func oneLineThatIsTooLongIsRefusedWhateverItHolds() {
        let line = "A: " + String(repeating: "x", count: 300 << 10)
        #expect(throws: HeadFailure.tooLarge(limit: 64 << 10)) { try ParsedLines(Self.head(line), limit: 64 << 10) }
    }

    @Test(arguments: [99, 1, 10_000])
    func headersWithoutEndMeetTheLimit(_ limit: Int) {
        let lines = String(repeating: "A: 1\r\n", count: 10_000)
        #expect(throws: HeadFailure.tooLarge(limit: limit)) {
            try ParsedLines("HTTP/1.1 200 OK\r\n" + lines, limit: limit)
        }
    }

    @Test(arguments: [10_000, 10_001]) func tooManyFieldsAreRefusedInHeadAndTrailers(_ count: Int) throws {
        let lines = String(repeating: "A:1\r\n", count: count)
        let head = "HTTP/1.1 200 OK\r\n\(lines)\r\n", trailers = Self.head("B: 2") + lines
        guard count > WireFields.maximumCount else {
            #expect(try ParsedLines(head).final?.fields.count == count)
            #expect(try ParsedLines(trailers).trailers.count == count)
            return
        }
        #expect(throws: HeadFailure.tooManyFields) { try ParsedLines(head) }
        #expect(throws: HeadFailure.tooManyFields) { try ParsedLines(trailers) }
    }

    @Test func informationalHeadsWithoutEndMeetTheLimitTogether() {
        let heads = String(repeating: "HTTP/1.1 103 x\r\n\r\n", count: 1000)
        #expect(throws: HeadFailure.tooLarge(limit: 1000)) { try ParsedLines(heads, limit: 1000) }
    }

    @Test func trailersHaveALimitOfTheirOwn() throws {
        let head = Self.head("A: 1")
        let trailers = String(repeating: "B: 2\r\n", count: 4)
        #expect(try ParsedLines(head + trailers, limit: head.utf8.count).trailers.count == 4)
        let many = String(repeating: "B: 2\r\n", count: 100)
        #expect(throws: HeadFailure.tooLarge(limit: head.utf8.count)) {
            try ParsedLines(head + many, limit: head.utf8.count)
        }
    }
}
