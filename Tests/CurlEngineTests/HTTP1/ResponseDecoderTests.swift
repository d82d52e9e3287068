import Testing

@testable import CurlEngine

/// A response on HTTP/1.1 is read by RFC 9112, however its bytes are divided.
struct ResponseDecoderTests {
    @Test(arguments: ResponseTable.rows.indices)
    func aResponse(_ index: Int) {
        let row = ResponseTable.rows[index]
        let text = String(decoding: row.bytes, as: UTF8.self)
        let whole = DecodedResponse([row.bytes[...]], row.traits)
        #expect(whole.events == row.events, "\(text)")
        #expect(whole.failure == row.failure, "\(text)")
        #expect(whole.message == row.message, "\(text)")
        #expect(whole.isReusable == row.isReusable, "\(text)")
        #expect(row.failure != nil || whole.rest == row.rest, "\(text)")
    }

    @Test(arguments: ResponseTable.rows.indices)
    func aResponseInPieces(_ index: Int) {
        let row = ResponseTable.rows[index]
        let whole = DecodedResponse([row.bytes[...]], row.traits)
        for cut in row.bytes.indices.dropFirst() {
            let inTwo = DecodedResponse([row.bytes[..<cut], row.bytes[cut...]], row.traits)
            #expect(inTwo == whole, "cut at \(cut): \(String(decoding: row.bytes, as: UTF8.self))")
        }
        let inBytes = DecodedResponse(row.bytes.indices.map { row.bytes[$0...$0] }, row.traits)
        #expect(inBytes == whole, "\(String(decoding: row.bytes, as: UTF8.self))")
    }

    // MARK: Limits

    private static func head(_ lines: String) -> String { "HTTP/1.1 204 No\r\n\(lines)\r\n\r\n" }

    /// The kind of the failure with which a text is refused, whether it comes in one piece or byte by byte.
    private func failure(_ text: String, limit: Int) -> EngineFailure.Kind? {
        let whole = DecodedResponse(text, limit: limit)
        let bytes = Array(text.utf8)
        let inBytes = DecodedResponse(bytes.indices.map { bytes[$0...$0] }, limit: limit)
        #expect(inBytes == whole)
        return whole.failure
    }

    @Test func aHeadOfExactlyTheLimitIsAHead() {
        let head = Self.head("A: 1")
        #expect(failure(head, limit: head.utf8.count) == nil)
        let less = head.utf8.count - 1
        #expect(failure(head, limit: less) == .head(.tooLarge(limit: less)))
    }

    @Test(arguments: [0, 1, 16, 99, 10_000])
    func fieldsWithoutEndMeetTheLimit(_ limit: Int) {
        let lines = String(repeating: "A: 1\r\n", count: 2_000)
        #expect(failure("HTTP/1.1 200 OK\r\n" + lines, limit: limit) == .head(.tooLarge(limit: limit)))
    }

    @Test(arguments: ["HTTP/1.1 200 OK\r\nA: ", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 ", "\u{1}"])
    func aLineWithoutEndMeetsTheLimit(_ start: String) {
        let text = start + String(repeating: "x", count: 3_000)
        #expect(failure(text, limit: 2_000) == .head(.tooLarge(limit: 2_000)))
        #expect(failure(text + "\r\n", limit: 2_000) == .head(.tooLarge(limit: 2_000)))
    }

    @Test func informationalHeadsWithoutEndMeetTheLimitTogether() {
        let heads = String(repeating: "HTTP/1.1 103 x\r\n\r\n", count: 100)
        #expect(failure(heads, limit: 1_000) == .head(.tooLarge(limit: 1_000)))
    }

    @Test func trailersHaveALimitOfTheirOwn() {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        let limit = head.utf8.count
        #expect(failure(head + "0\r\nB: 2\r\nC: 3\r\n\r\n", limit: limit) == nil)
        let many = String(repeating: "B: 2\r\n", count: 100)
        #expect(failure(head + "0\r\n" + many, limit: limit) == .head(.tooLarge(limit: limit)))
    }

    @Test(arguments: [10_000, 10_001]) func tooManyFieldsAreRefused(_ count: Int) {
        let lines = String(repeating: "A:1\r\n", count: count)
        let trailers = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\(lines)\r\n"
        let expected: EngineFailure.Kind? = count > WireFields.maximumCount ? .head(.tooManyFields) : nil
        #expect(DecodedResponse("HTTP/1.1 204 No\r\n\(lines)\r\n").failure == expected)
        #expect(DecodedResponse(trailers).failure == expected)
    }

    @Test(arguments: [ChunkFraming.longestLine, ChunkFraming.longestLine + 1])
    func theLineBeforeAChunkIsLimited(_ length: Int) {
        let size = "1;" + String(repeating: "x", count: length - 3) + "\r"
        #expect(size.utf8.count == length)
        let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(size)\na\r\n0\r\n\r\n"
        let isTooLong = length > ChunkFraming.longestLine
        #expect(failure(text, limit: 1 << 16) == (isTooLong ? .malformedResponse : nil))
        #expect(DecodedResponse(text).message == (isTooLong ? "a line is longer than 4096 bytes" : ""))
    }

    // MARK: State

    @Test func theStateBeforeTheBody() throws {
        var decoder = HTTP1ResponseDecoder(limit: 1_000)
        let bytes = Array("HTTP/1.1 200 OK\r\nContent-Length: 9\r\nContent-Encoding: gzip\r\n\r\nbo".utf8)
        var position = 0
        #expect(!decoder.hasStarted)
        guard case .head(let head) = unsafe try decoder.next(in: bytes.span.bytes, at: &position) else {
            Issue.record("no head")
            return
        }
        #expect(decoder.hasStarted && decoder.framing == .length(9))
        #expect(decoder.hasContentCoding && head.fields.contentCodings == ["gzip"])
        #expect(decoder.headBytes == position)
    }

    /// The connection may end before the end of a response was asked for.
    @Test(arguments: ["204 No\r\n\r\n", "200 OK\r\nContent-Length: 0\r\n\r\n", "200 OK\r\nContent-Length: 2\r\n\r\nok"])
    func aCompleteResponseIsNotCutShort(_ text: String) throws {
        let bytes = Array("HTTP/1.1 \(text)".utf8)
        var decoder = HTTP1ResponseDecoder(limit: 1_000)
        var position = 0
        while position < bytes.count { _ = unsafe try decoder.next(in: bytes.span.bytes, at: &position) }
        guard case .end = try decoder.connectionEnded() else {
            Issue.record("no end")
            return
        }
        #expect(decoder.hasEnded && !decoder.isReusable)
    }

    /// The framing of the chunks, with the empty line after the trailers, belongs to the body.
    @Test(arguments: [[], [46, 47], Array(46..<100)])
    func theBytesOfTheHeadAndTheTrailersAreCounted(_ cuts: [Int]) throws {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        let bytes = Array("\(head)1;x\r\na\r\n0\r\nA: 1\r\n\r\nX".utf8)
        let ends = cuts.filter { $0 < bytes.count } + [bytes.count]
        var decoder = HTTP1ResponseDecoder(limit: 1_000)
        var start = 0
        for end in ends {
            var position = 0
            let piece = Array(bytes[start..<end])
            loop: while true {
                if case .more = unsafe try decoder.next(in: piece.span.bytes, at: &position) { break loop }
            }
            start = end
        }
        #expect(decoder.hasEnded && !decoder.isReusable)
        #expect(decoder.headBytes == head.utf8.count + 6)
    }

    @Test(
        arguments: [
            ("timeout=5", 5), ("timeout=5, max=100", 5), ("max=100,Timeout = 7", 7), ("timeout=\"3\"", 3),
            ("timeout=0", 0),
            ("timeout=-1", nil), ("timeout=x", nil), ("max=5", nil), ("", nil), ("timeout=99999999999999999999", nil),
        ] as [(String, Int?)])
    func theTimeOfAnIdleConnectionIsRead(_ value: String, _ timeout: Int?) throws {
        var decoder = HTTP1ResponseDecoder(limit: 1_000)
        let bytes = Array("HTTP/1.1 204 No\r\nKeep-Alive: \(value)\r\n\r\n".utf8)
        var position = 0
        _ = unsafe try decoder.next(in: bytes.span.bytes, at: &position)
        #expect(decoder.keepAliveTimeout == timeout)
    }
}
