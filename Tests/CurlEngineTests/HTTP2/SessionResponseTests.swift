import Testing

@testable import CurlEngine

/// Frames of a server become the events of a response, however their bytes are divided.
@Suite(.enabled(if: HTTP2Session.isAvailable, "needs nghttp2"))
struct SessionResponseTests {
    /// Frames after the server's settings, the events, and the frames that answer them.
    struct Row: Sendable {
        let name: String
        var method = "GET"
        let frames: [[UInt8]]
        let events: [String]
        var sent: [String] = []
    }

    private static let ok = HTTP2Bytes.head(), malformed = "RST_STREAM 1: 1"
    private static let violation = "failed: http2 the server violates HTTP/2"
    private static func head(_ fields: (String, String)..., status: String = "200", ends: Bool = false) -> [UInt8] {
        HTTP2Bytes.head(1, [(":status", status)] + fields, ends: ends)
    }

    static let rows = [
        Row(name: "a head alone", frames: [head(("a", "1"), ends: true)], events: ["head 200 a:1\n", "end"]),
        Row(
            name: "a body",
            frames: [head(("content-length", "4")), HTTP2Bytes.data("ab"), HTTP2Bytes.data("cd", ends: true)],
            events: ["head 200 content-length:4\n", "body abcd", "end"]),
        Row(
            name: "an end without bytes", frames: [ok, HTTP2Bytes.data("ab"), HTTP2Bytes.data(ends: true)],
            events: ["head 200", "body ab", "end"]),
        Row(
            name: "trailers",
            frames: [ok, HTTP2Bytes.data("ab"), HTTP2Bytes.head(1, [("t", "1"), ("u", "2")], ends: true)],
            events: ["head 200", "body ab", "end t:1\nu:2\n"]),
        Row(
            name: "padding", frames: [ok, HTTP2Bytes.frame(0, flags: 9, stream: 1, [2, 97, 0, 0])],
            events: ["head 200", "body a", "end"]),
        Row(
            name: "informational heads",
            frames: [head(status: "100"), head(("link", "x"), status: "103"), head(status: "204", ends: true)],
            events: ["informational 100", "informational 103 link:x\n", "head 204", "end"]),
        Row(
            name: "a head in two frames",
            frames: [
                HTTP2Bytes.frame(1, flags: 1, stream: 1, HTTP2Bytes.fields([(":status", "200")])),
                HTTP2Bytes.frame(9, flags: 4, stream: 1, HTTP2Bytes.fields([("a", "1")])),
            ], events: ["head 200 a:1\n", "end"]),
        Row(
            name: "blanks around a value", frames: [head(("a", " 1\t"), ends: true)], events: ["head 200 a:1\n", "end"]),
        Row(
            name: "equal lengths",
            frames: [head(("content-length", "1, 1"), ("content-length", "1")), HTTP2Bytes.data("a", ends: true)],
            events: ["head 200 content-length:1, 1\ncontent-length:1\n", "body a", "end"]),
        Row(
            name: "a length in the response to HEAD", method: "HEAD",
            frames: [head(("content-length", "7"), ends: true)],
            events: ["head 200 content-length:7\n", "end"]),
        Row(
            name: "a length with 304", frames: [head(("content-length", "7"), status: "304", ends: true)],
            events: ["head 304 content-length:7\n", "end"]),

        // Heads that are refused.
        Row(
            name: "no status", frames: [HTTP2Bytes.head(1, [("a", "1")])],
            events: ["failed: head(CurlEngine.HeadFailure.badStatusLine(\"no :status\"))"], sent: [malformed]),
        Row(
            name: "a malformed status", frames: [head(status: "20")],
            events: ["failed: head(CurlEngine.HeadFailure.badStatusLine(\":status: 20\"))"], sent: [malformed]),
        Row(
            name: "two statuses", frames: [head((":status", "200"))],
            events: ["failed: head(CurlEngine.HeadFailure.badStatusLine(\":status: 200\"))"], sent: [malformed]),
        Row(
            name: "a status after a field", frames: [HTTP2Bytes.head(1, [("a", "1"), (":status", "200")])],
            events: ["failed: head(CurlEngine.HeadFailure.badStatusLine(\":status: 200\"))"], sent: [malformed]),
        Row(
            name: "another pseudo field", frames: [head((":path", "/"))],
            events: ["failed: head(CurlEngine.HeadFailure.badFieldLine(\":path: /\"))"], sent: [malformed]),
        Row(
            name: "a name in upper case", frames: [head(("A", "1"))],
            events: ["failed: head(CurlEngine.HeadFailure.badFieldLine(\"A: 1\"))"], sent: [malformed]),
        Row(
            name: "a name that is no token", frames: [head(("a b", "1"))],
            events: ["failed: head(CurlEngine.HeadFailure.badFieldLine(\"a b: 1\"))"], sent: [malformed]),
        Row(
            name: "a line break", frames: [head(("a", "1\r\nb"))],
            events: ["failed: head(CurlEngine.HeadFailure.badFieldLine(\"a: 1·b\"))"], sent: [malformed]),
        Row(
            name: "a field of the connection", frames: [head(("transfer-encoding", "chunked"))],
            events: ["failed: head(CurlEngine.HeadFailure.badFieldLine(\"transfer-encoding: chunked\"))"],
            sent: [malformed]),
        Row(
            name: "two lengths", frames: [head(("content-length", "1"), ("content-length", "2"))],
            events: ["failed: head(CurlEngine.HeadFailure.conflictingContentLength)"], sent: [malformed]),
        Row(
            name: "no length", frames: [head(("content-length", "-1"))],
            events: ["failed: head(CurlEngine.HeadFailure.badContentLength(\"-1\"))"], sent: [malformed]),
        Row(
            name: "another protocol", frames: [head(status: "101")],
            events: ["failed: head(CurlEngine.HeadFailure.unexpectedStatus(101))"], sent: [malformed]),
        Row(
            name: "an informational end", frames: [head(status: "100", ends: true)],
            events: ["failed: head(CurlEngine.HeadFailure.cutShort)"]),
        Row(
            name: "a second head", frames: [ok, head(status: "200", ends: true)],
            events: ["head 200", "failed: head(CurlEngine.HeadFailure.secondHead)"]),
        Row(
            name: "trailers without an end", frames: [ok, HTTP2Bytes.head(1, [("a", "1")])],
            events: ["head 200", "failed: head(CurlEngine.HeadFailure.secondHead)"], sent: [malformed]),

        // Bodies that are refused.
        Row(
            name: "a body before the head", frames: [HTTP2Bytes.data("a")],
            events: [violation, "broken\(violation.dropFirst(6))"], sent: ["GOAWAY 0: 1"]),
        Row(
            name: "an end before the head", frames: [HTTP2Bytes.data(ends: true)],
            events: [violation, "broken\(violation.dropFirst(6))"], sent: ["GOAWAY 0: 1"]),
        Row(
            name: "a body after an informational head", frames: [head(status: "100"), HTTP2Bytes.data("a")],
            events: ["informational 100", "failed: malformedResponse the body comes before the head"],
            sent: [malformed]),
        Row(
            name: "an end after an informational head", frames: [head(status: "100"), HTTP2Bytes.data(ends: true)],
            events: ["informational 100", "failed: emptyReply the server ended the stream without a head"]),
        Row(
            name: "a longer body", frames: [head(("content-length", "1")), HTTP2Bytes.data("ab")],
            events: [
                "head 200 content-length:1\n", "body a",
                "failed: malformedResponse the body is longer than its head announces",
            ],
            sent: [malformed]),
        Row(
            name: "a body of HEAD", method: "HEAD", frames: [ok, HTTP2Bytes.data("a")],
            events: ["head 200", "failed: malformedResponse the body is longer than its head announces"],
            sent: [malformed]),
        Row(
            name: "a shorter body", frames: [head(("content-length", "3")), HTTP2Bytes.data("a", ends: true)],
            events: [
                "head 200 content-length:3\n", "body a",
                "failed: bodyCutShort the server ended the stream 2 bytes before the end of the body",
            ]),

        // Resets.
        Row(
            name: "a refused stream", frames: [HTTP2Bytes.reset(7)],
            events: ["failed: http2 the server has reset the stream with REFUSED_STREAM, unprocessed"]),
        Row(
            name: "a reset within the body", frames: [ok, HTTP2Bytes.data("a"), HTTP2Bytes.reset(2)],
            events: ["head 200", "body a", "failed: http2 the server has reset the stream with INTERNAL_ERROR"]),
        Row(
            name: "a reset without error before the end", frames: [ok, HTTP2Bytes.reset(0)],
            events: ["head 200", "failed: http2 the server has reset the stream with NO_ERROR"]),
        Row(
            name: "the first reset decides", frames: [HTTP2Bytes.reset(7), HTTP2Bytes.reset(2)],
            events: ["failed: http2 the server has reset the stream with REFUSED_STREAM, unprocessed"]),

        // The connection.
        Row(
            name: "a GOAWAY", frames: [HTTP2Bytes.goAway(last: 1, code: 11, "calm\u{1}"), head(ends: true)],
            events: ["goaway 1 ENHANCE_YOUR_CALM calm\\x01", "head 200", "end"]),
        Row(
            name: "a GOAWAY that excludes the stream", frames: [HTTP2Bytes.goAway(last: 0, code: 0)],
            events: [
                "goaway 0 NO_ERROR ",
                "failed: http2 the server has closed the connection with GOAWAY (NO_ERROR), unprocessed",
            ]),
        Row(name: "a PING", frames: [HTTP2Bytes.ping(5)], events: [], sent: ["PING 0: acknowledgement"]),
        Row(
            name: "a promise", frames: [HTTP2Bytes.frame(5, flags: 4, stream: 1, [0, 0, 0, 2])],
            events: [
                "failed: http2 the server promises a response, which the client has forbidden",
                "broken: http2 the server promises a response, which the client has forbidden",
            ], sent: ["GOAWAY 0: 1"]),
    ]

    /// The events and the answers for some frames that arrive in certain pieces.
    private func run(_ row: Row, cut: Int = .max, piece: Int = .max) throws -> (events: [String], sent: [String]) {
        let run = try SessionRun()
        try run.submit(row.method)
        run.sent()
        run.receive(HTTP2Bytes.settings())
        run.sent()
        run.forgetEvents()
        let bytes = Array(row.frames.joined())
        if cut < bytes.count {
            run.receive(Array(bytes[..<cut]))
            run.receive(Array(bytes[cut...]))
        } else {
            run.receive(bytes, piece: piece)
        }
        return (run.events, run.sentText())
    }

    @Test(arguments: rows.indices)
    func aResponse(_ index: Int) throws {
        let row = Self.rows[index]
        let (events, sent) = try run(row)
        #expect(events == row.events, "\(row.name)")
        #expect(sent == row.sent, "\(row.name)")
        let inBytes = try run(row, piece: 1)
        #expect(inBytes.events == row.events, "\(row.name), byte by byte")
        for cut in 1..<row.frames.joined().count {
            let inTwo = try run(row, cut: cut)
            #expect(inTwo.events == row.events, "\(row.name), cut at \(cut)")
        }
    }

    // MARK: Limits on heads

    @Test func aHeadOfExactlyTheLimitIsAHead() throws {
        // As in HTTP/1.1: `HTTP/2 200 `, `a: 1` and the empty line, with their ends, of which the last one is not limited.
        for (limit, event) in [
            (13 + 6, "head 200 a:1\n"), (18, "failed: head(CurlEngine.HeadFailure.tooLarge(limit: 18))"),
        ] {
            let run = try SessionRun()
            try run.submit(limit: limit)
            run.sent()
            run.forgetEvents()
            run.receive(HTTP2Bytes.settings(), HTTP2Bytes.head(1, [(":status", "200"), ("a", "1")]))
            #expect(run.events.last == event)
        }
    }

    @Test func informationalHeadsCountTowardsTheLimit() throws {
        let run = try SessionRun()
        let stream = try run.submit(limit: 60)
        run.sent()
        run.receive(HTTP2Bytes.settings())
        for _ in 0..<5 { run.receive(HTTP2Bytes.head(1, [(":status", "103")])) }
        #expect(!stream.isActive)
        #expect(run.failures.first?.kind == .head(.tooLarge(limit: 60)))
    }

    @Test func manyContinuationsEndTheConnection() throws {
        for (count, isFine) in [(8, true), (9, false)] {
            let run = try SessionRun()
            try run.submit()
            run.sent()
            run.receive(HTTP2Bytes.settings(), HTTP2Bytes.frame(1, stream: 1, HTTP2Bytes.fields([(":status", "200")])))
            for index in 1...count {
                let isLast = index == count
                run.receive(HTTP2Bytes.frame(9, flags: isLast ? 4 : 0, stream: 1, HTTP2Bytes.fields([("a", "1")])))
            }
            #expect(run.failures.isEmpty == isFine)
            #expect(isFine || run.failures.first?.message.hasPrefix("a header block has more than 8") == true)
        }
    }

    @Test func theFieldsOfAnotherStreamAreReadAfterARefusedHead() throws {
        let run = try SessionRun()
        try run.submit(limit: 100)
        try run.submit()
        run.sent()
        run.receive(
            HTTP2Bytes.settings(), HTTP2Bytes.head(1, [(":status", "200"), ("a", String(repeating: "x", count: 200))]))
        run.receive(HTTP2Bytes.head(3, [(":status", "200"), ("b", "2")], ends: true))
        #expect(run.events.suffix(2) == ["head 3 200 b:2\n", "end 3"])
    }

    // MARK: Readers that stop

    @Test func theEndWaitsForTheHeldBytes() throws {
        let run = try SessionRun()
        let stream = try run.submit()
        run.sent()
        run.receive(HTTP2Bytes.settings())
        run.forgetEvents()
        run.didReceiveBody = { run.session?.hold($0) }
        run.receive(HTTP2Bytes.head(), HTTP2Bytes.data("ab"), HTTP2Bytes.data("cd"), HTTP2Bytes.data("ef", ends: true))
        run.receive(HTTP2Bytes.reset(8))
        #expect(run.events == ["head 200", "body ab"])
        #expect(stream.isActive)
        run.didReceiveBody = { _ in }
        run.session?.release(stream)
        #expect(run.events == ["head 200", "body abcdef", "end"])
        #expect(!stream.isActive)
    }

    @Test func theFailureWaitsForTheHeldBytes() throws {
        let run = try SessionRun()
        let stream = try run.submit()
        run.sent()
        run.receive(HTTP2Bytes.settings(), HTTP2Bytes.head())
        run.session?.hold(stream)
        run.forgetEvents()
        run.receive(HTTP2Bytes.data("ab"), HTTP2Bytes.reset(2))
        run.session?.connectionEnded(EngineFailure(kind: .receive, message: "lost"))
        #expect(run.events == [])
        run.session?.release(stream)
        #expect(run.events == ["body ab", "failed: http2 the server has reset the stream with INTERNAL_ERROR"])
    }

    @Test func heldBytesAreGrantedWhenTheReaderTakesThem() throws {
        let run = try SessionRun()
        let (stopped, other) = (try run.submit(), try run.submit())
        run.sent()
        run.receive(HTTP2Bytes.settings(), HTTP2Bytes.frame(4, flags: 1), HTTP2Bytes.head(1), HTTP2Bytes.head(3))
        run.sent()
        run.session?.hold(stopped)
        let piece = String(repeating: "x", count: 16 << 10)
        for _ in 0..<16 { run.receive(HTTP2Bytes.data(piece, 1)) }
        #expect(!run.sentText().contains { $0.hasPrefix("WINDOW_UPDATE 1") })
        // The reader that goes on has its window.
        for _ in 0..<8 { run.receive(HTTP2Bytes.data(piece, 3)) }
        #expect(run.sentText().contains("WINDOW_UPDATE 3: \(128 << 10)"))
        run.session?.release(stopped)
        #expect(run.sentText().contains { $0.hasPrefix("WINDOW_UPDATE 1") })
        #expect(other.isActive)
    }

    @Test func aSlowReaderHoldsNoMoreThanTwoWindows() throws {
        let run = try SessionRun()
        let stream = try run.submit()
        run.sent()
        run.receive(HTTP2Bytes.settings(), HTTP2Bytes.frame(4, flags: 1), HTTP2Bytes.head(1))
        run.sent()
        run.session?.hold(stream)
        run.didReceiveBody = { run.session?.hold($0) }
        let piece = String(repeating: "x", count: 16 << 10)
        for _ in 0..<8 { run.receive(HTTP2Bytes.data(piece, 1)) }
        for _ in 0..<64 {
            // The reader takes a part, and the server sends as much again.
            run.session?.release(stream)
            for _ in 0..<4 { run.receive(HTTP2Bytes.data(piece, 1)) }
            run.sent()
            #expect(stream.receiving.heldCount == 128 << 10)
            #expect(stream.receiving.held.count <= 512 << 10)
        }
        #expect(stream.isActive)
    }

    @Test func moreThanTheWindowEndsTheConnection() throws {
        let run = try SessionRun()
        let stream = try run.submit()
        run.sent()
        run.receive(HTTP2Bytes.settings(), HTTP2Bytes.frame(4, flags: 1), HTTP2Bytes.head(1))
        run.sent()
        run.session?.hold(stream)
        let piece = String(repeating: "x", count: 16 << 10)
        for _ in 0..<17 { run.receive(HTTP2Bytes.data(piece, 1)) }
        // nghttp2 resets the stream.
        #expect(run.sentText().contains { $0.hasPrefix("RST_STREAM 1: 3") || $0 == "GOAWAY 0: 3" })
    }
}
