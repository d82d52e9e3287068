import Glibc
import Testing

@testable import CurlEngine

/// Requests become frames, whose fields and bodies obey RFC 9113.
@Suite(.enabled(if: HTTP2Session.isAvailable, "needs nghttp2"))
struct SessionRequestTests {
    // MARK: Fields

    /// The fields of the first request that is sent.
    private func fields(_ run: SessionRun) throws -> [String] {
        let heads = run.sent().filter { $0.kind == 1 }
        let table = try #require(FieldTable())
        return table.fields(of: try #require(heads.first).payload)
    }

    private let plain = [":method: GET", ":authority: a.example", ":scheme: https", ":path: /"]

    @Test func aPlainRequest() throws {
        let run = try SessionRun(defaults: ["User-Agent: t"])
        try run.submit()
        #expect(try fields(run) == plain + ["user-agent: t", "accept: */*"])
        let again = try SessionRun()
        try again.submit(url: "http://[::1]:8080/a/b?c=d", lines: ["Accept:"])
        let target = [":method: GET", ":authority: [::1]:8080", ":scheme: http", ":path: /a/b?c=d"]
        #expect(try fields(again) == target)
    }

    @Test func fieldsOfTheConnectionAreDropped() throws {
        let run = try SessionRun()
        try run.submit(lines: [
            "Connection: x", "Keep-Alive: 5", "Proxy-Connection: y", "Transfer-Encoding: chunked", "Upgrade: h2c",
            "TE: gzip",
            "HTTP2-Settings: x", "Content-Length: 9", "Host: b.example", "X-Empty;", "Expect:", "X-A:  1 ", "Accept: a",
        ])
        let head = [":method: GET", ":authority: b.example", ":scheme: https", ":path: /"]
        #expect(try fields(run) == head + ["x-empty: ", "x-a: 1", "accept: a"])
        let trailers = try SessionRun()
        try trailers.submit(lines: ["TE: trailers", "Accept:"])
        #expect(try fields(trailers) == plain + ["te: trailers"])
    }

    @Test func secretFieldsAreInNoTable() throws {
        let run = try SessionRun()
        let secrets = ["Authorization", "X-Api-Key", "Pass-Phrase", "Code-Verifier", "SAMLResponse", "X-JWT", "TOTP"]
        let lines = ["Cookie: a=1; b=2;c=3"] + secrets.map { "\($0): x" } + ["X-Plain: z", "Accept:"]
        try run.submit(lines: lines)
        let expected = [
            "!cookie: a=1", "!cookie: b=2", "!cookie: c=3",
        ]
        #expect(try fields(run) == plain + expected + secrets.map { "!\($0.lowercased()): x" } + ["x-plain: z"])
    }

    @Test func theNextRequestHasItsOwnFields() throws {
        let run = try SessionRun(defaults: ["X: 1"])
        try run.submit(url: "https://a.example/1")
        try run.submit(url: "https://b.example/2")
        try run.submit("POST", url: "https://a.example/3", lines: ["X: 2"], body: .bytes([1]))
        let table = try #require(FieldTable())
        let heads = run.sent().filter { $0.kind == 1 }.map { table.fields(of: $0.payload) }
        #expect(heads.count == 3)
        #expect(
            heads[0] == [":method: GET", ":authority: a.example", ":scheme: https", ":path: /1", "x: 1", "accept: */*"])
        #expect(
            heads[1] == [":method: GET", ":authority: b.example", ":scheme: https", ":path: /2", "x: 1", "accept: */*"])
        #expect(
            heads[2] == [
                ":method: POST", ":authority: a.example", ":scheme: https", ":path: /3", "x: 2", "accept: */*",
                "content-length: 1",
            ])
    }

    @Test(arguments: ["X: 1\u{d}\u{a}Y: 2", "no colon", ": empty", "a b: c"])
    func malformedFieldsAreRefused(_ line: String) throws {
        let run = try SessionRun()
        #expect(throws: EngineFailure.self) { try run.submit(lines: [line]) }
        #expect(run.sent().allSatisfy { $0.kind != 1 })
        try run.submit()
        #expect(run.sent().contains { $0.kind == 1 })
    }

    @Test func malformedMethodsAreRefused() throws {
        let run = try SessionRun()
        #expect(throws: EngineFailure.self) { try run.submit("GET /x") }
        #expect(throws: EngineFailure.self) { try run.submit("") }
    }

    @Test func aLargeHeadIsSentInContinuations() throws {
        let run = try SessionRun()
        try run.submit(lines: ["X-Large: " + String(repeating: "x", count: 200_000)])
        let frames = run.sent(room: HTTP2Session.smallestRoom).filter { $0.kind == 1 || $0.kind == 9 }
        #expect(frames.count > 7)
        #expect(frames.last?.flags == 4)
    }

    /// The size of a request is that of the same one over HTTP/1.1, whether its fields are new or those of the last one.
    @Test func theSizeOfARequest() throws {
        let run = try SessionRun(defaults: ["User-Agent: t"])
        let head = "HTTP/2\r\nHost: a.example\r\nUser-Agent: t\r\nAccept: */*\r\n"
        let get = try run.submit(), again = try run.submit()
        let post = try run.submit("POST", url: "https://a.example/b?c", body: .bytes([1, 2, 3]))
        #expect([get, again, post].map(\.sentCount) == [0, 0, 0])
        run.sent()
        #expect(get.sentCount == "GET / \(head)\r\n".utf8.count && again.sentCount == get.sentCount)
        #expect(post.sentCount == "POST /b?c \(head)Content-Length: 3\r\n\r\n".utf8.count + 3)
    }

    // MARK: Extended CONNECT (RFC 8441)

    @Test func anExtendedCONNECTWaitsForTheServersSettings() throws {
        let run = try SessionRun()
        let lines = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x", "Accept:", "Host: b.example"]
        let stream = try run.submit(url: "https://a.example/x", lines: lines, switchesProtocols: true)
        try run.submit()
        #expect(run.sentText().filter { $0.hasPrefix("HEADERS") } == ["HEADERS 1, end"] && stream.number == 0)
        #expect(run.session?.activeStreams == 2)
        run.receive(HTTP2Bytes.settings([(8, 1)]))
        let frames = run.sent().filter { $0.kind == 1 }
        #expect(frames.map(\.text) == ["HEADERS 3"] && stream.number == 3)
        let later = try SessionRun()
        later.receive(HTTP2Bytes.settings([(8, 1)]))
        try later.submit(url: "https://a.example/x", lines: lines, switchesProtocols: true)
        let target = [":method: CONNECT", ":authority: b.example", ":scheme: https", ":path: /x"]
        #expect(try fields(later) == target + [":protocol: websocket"])
    }

    @Test(arguments: [[], [(8, 0)]] as [[(UInt16, UInt32)]])
    func anExtendedCONNECTThatIsNotOfferedSendsNothing(_ settings: [(UInt16, UInt32)]) throws {
        let run = try SessionRun()
        try run.submit(lines: ["Upgrade: websocket"], switchesProtocols: true)
        run.receive(HTTP2Bytes.settings(settings))
        #expect(run.failures.map(\.kind) == [.extendedConnectNotOffered])
        #expect(throws: EngineFailure.self) {
            try run.submit(lines: ["Upgrade: websocket"], switchesProtocols: true)
        }
        #expect(!run.sentText().contains { $0.hasPrefix("HEADERS") } && run.session?.activeStreams == 0)
    }

    @Test func anExtendedCONNECTThatWaitsCanEnd() throws {
        let run = try SessionRun()
        let stream = try run.submit(lines: ["Upgrade: websocket"], switchesProtocols: true)
        run.session?.cancel(stream)
        #expect(run.session?.activeStreams == 0)
        try run.submit(lines: ["Upgrade: websocket"], switchesProtocols: true)
        run.session?.connectionEnded(EngineFailure(kind: .receive, message: "lost"))
        #expect(run.events.last == "failed 0: receive lost, unprocessed" && run.session?.activeStreams == 0)
        #expect(!run.sentText().contains { $0.hasPrefix("HEADERS") || $0.hasPrefix("RST_STREAM") })
    }

    // MARK: Bodies

    @Test func aBodyInMemory() throws {
        let run = try SessionRun()
        let stream = try run.submit("POST", body: .bytes([UInt8](repeating: 1, count: 40_000)))
        let sent = run.sentText().filter { !$0.hasPrefix("SETTINGS") && !$0.hasPrefix("WINDOW_UPDATE") }
        #expect(sent == ["HEADERS 1", "DATA 1: 16384 bytes", "DATA 1: 16384 bytes", "DATA 1: 7232 bytes, end"])
        #expect(run.events == ["sent head"])
        #expect(stream.isRequestSent)
    }

    @Test func anEmptyBodyEndsWithTheHead() throws {
        let run = try SessionRun()
        try run.submit("POST", body: .bytes([]))
        try run.submit("POST", body: .stream(length: 0))
        let sent = run.sentText().filter { $0.hasPrefix("HEADERS") || $0.hasPrefix("DATA") }
        #expect(sent == ["HEADERS 1, end", "HEADERS 3, end"])
    }

    @Test func aStreamedBodyGoesOnWhenThereAreBytes() throws {
        let run = try SessionRun()
        let stream = try run.submit("POST", body: .stream(length: nil))
        run.parts = [HTTP2BodyPart(count: 3), nil]
        #expect(run.sentText().suffix(2) == ["HEADERS 1", "DATA 1: 3 bytes"])
        #expect(run.session?.wantsWrite == false)
        run.parts = [HTTP2BodyPart(count: 2), HTTP2BodyPart(count: 0, isEnd: true)]
        #expect(run.sent().isEmpty)
        run.session?.resumeBody(stream)
        #expect(run.sentText() == ["DATA 1: 2 bytes", "DATA 1: 0 bytes, end"])
    }

    @Test func aBodyWaitsForTheResponseToItsHead() throws {
        let run = try SessionRun()
        let stream = try run.submit("POST", body: .bytes([1, 2]), holdsBody: true)
        #expect(run.sentText().last == "HEADERS 1")
        run.session?.resumeBody(stream)
        #expect(run.sentText() == ["DATA 1: 2 bytes, end"])
    }

    @Test func trailersFollowTheBody() throws {
        let run = try SessionRun()
        let stream = try run.submit("POST", body: .stream(length: 2), hasTrailers: true)
        run.parts = [
            HTTP2BodyPart(count: 2), HTTP2BodyPart(count: 0, isEnd: true, trailers: HeaderLines(lines: ["T: 1"])),
        ]
        let frames = run.sent()
        #expect(frames.suffix(2).map(\.text).last == "HEADERS 1, end")
        #expect(stream.isRequestSent)
    }

    @Test func trailersComeWithTheLastBytes() throws {
        let run = try SessionRun()
        let stream = try run.submit("POST", body: .stream(length: nil), hasTrailers: true)
        run.parts = [HTTP2BodyPart(count: 2, isEnd: true, trailers: HeaderLines(lines: ["T: 1"]))]
        #expect(run.sentText().suffix(2) == ["DATA 1: 2 bytes", "HEADERS 1, end"])
        #expect(stream.isRequestSent)
    }

    @Test(arguments: [HTTP2BodyPart(count: 3), HTTP2BodyPart(count: 1, isEnd: true)])
    func anotherLengthThanAnnouncedResetsTheStream(_ part: HTTP2BodyPart) throws {
        let run = try SessionRun()
        try run.submit("POST", body: .stream(length: 2))
        run.parts = [part]
        #expect(run.sentText().last == "RST_STREAM 1: 8")
        #expect(run.failures.first?.message == "the body has another length than the one announced")
    }

    @Test func aBodyObeysBothWindows() throws {
        let run = try SessionRun()
        try run.submit("POST", body: .bytes([UInt8](repeating: 1, count: 200_000)))
        func sent() -> Int { run.sent().filter { $0.kind == 0 }.reduce(0) { $0 + $1.payload.count } }
        #expect(sent() == 65_535)
        run.receive(HTTP2Bytes.settings(), HTTP2Bytes.windowUpdate(100_000, 1))
        #expect(sent() == 0)
        run.receive(HTTP2Bytes.windowUpdate(50_000))
        #expect(sent() == 50_000)
        run.receive(HTTP2Bytes.windowUpdate(1_000_000))
        #expect(sent() == 50_000)
        run.receive(HTTP2Bytes.windowUpdate(1_000_000, 1))
        #expect(sent() == 34_465)
    }

    @Test func smallRequestsDoNotWaitForALargeBody() throws {
        let run = try SessionRun()
        run.receive(HTTP2Bytes.settings([(4, 10 << 20)]), HTTP2Bytes.windowUpdate(10 << 20))
        try run.submit("POST", body: .bytes([UInt8](repeating: 1, count: 5 << 20)))
        _ = unsafe [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, count in
            count = unsafe run.session?.fill(UnsafeMutableRawBufferPointer(buffer)) ?? 0
        }
        try run.submit()
        #expect(run.sentText().first == "HEADERS 3, end")
    }

    // MARK: Ends

    @Test func aResponseBeforeTheEndOfTheRequestEndsBoth() throws {
        let run = try SessionRun()
        let stream = try run.submit("POST", body: .stream(length: nil))
        run.parts = [HTTP2BodyPart(count: 3), nil]
        run.sent()
        run.forgetEvents()
        run.receive(HTTP2Bytes.settings(), HTTP2Bytes.head(1, [(":status", "413")], ends: true))
        #expect(run.events.suffix(2) == ["head 413", "end"])
        run.parts = [HTTP2BodyPart(count: 1)]
        run.session?.resumeBody(stream)
        #expect(run.sentText() == ["SETTINGS 0: acknowledgement", "RST_STREAM 1: 0"])
        // The server's own reset is no error.
        run.receive(HTTP2Bytes.reset(0))
        #expect(run.events.last == "end")
    }

    /// Complete responses without the end of their stream: the status, the length, the bodies, and the last events.
    static let complete: [(String, String?, [String], [String])] = [
        ("200", "2", ["a", "b"], ["body ab", "end"]),
        ("200", "0", [], ["head 200 content-length:0\n", "end"]),
        ("204", nil, [], ["head 204", "end"]),
        ("304", "2", [], ["head 304 content-length:2\n", "end"]),
    ]

    /// A server may hold the end of its stream back until it has the complete request.
    @Test(arguments: complete)
    func aResponseThatIsCompleteByItsLengthEndsBoth(
        _ status: String, _ length: String?, _ body: [String], _ events: [String]
    ) throws {
        let run = try SessionRun()
        try run.submit("POST", body: .stream(length: nil))
        run.parts = [HTTP2BodyPart(count: 3), nil]
        run.sent()
        run.forgetEvents()
        let fields = length.map { [("content-length", $0)] } ?? []
        run.receive(HTTP2Bytes.settings(), HTTP2Bytes.head(1, [(":status", status)] + fields))
        for piece in body { run.receive(HTTP2Bytes.data(piece)) }
        #expect(run.events.suffix(2) == events)
        #expect(run.sentText() == ["SETTINGS 0: acknowledgement", "RST_STREAM 1: 0"])
        // What follows is ignored.
        run.receive(HTTP2Bytes.head(1, [("t", "1")], ends: true))
        #expect(run.events.last == "end")
        try run.submit()
        #expect(run.sentText() == ["HEADERS 3, end"])
    }

    /// What comes on the stream before the server knows of the reset costs the other streams nothing.
    @Test func framesAfterACompleteResponseToAPartOfARequest() throws {
        let run = try SessionRun()
        try run.submit()
        run.sent()
        run.receive(HTTP2Bytes.settings(), HTTP2Bytes.frame(4, flags: HTTP2Bytes.acknowledgement))
        let fields = [(":status", "200"), ("content-length", "0")]
        for index in 1...130 as ClosedRange<UInt32> {
            try run.submit("POST", body: .stream(length: nil))
            run.sent()
            run.receive(HTTP2Bytes.head(2 * index + 1, fields))
            run.receive(HTTP2Bytes.head(2 * index + 1, [("t", "1")], ends: true))
        }
        #expect(run.failures.isEmpty)
        try run.submit("POST", body: .stream(length: nil))
        run.sent()
        run.receive(HTTP2Bytes.head(263, fields))
        // More than the length, and padding.
        let flags = HTTP2Bytes.padded | HTTP2Bytes.endStream
        run.receive(HTTP2Bytes.data("x", 263), HTTP2Bytes.frame(0, flags: flags, stream: 263, [1, 0]))
        #expect(run.failures.isEmpty)
        run.receive(HTTP2Bytes.head(1, [(":status", "204")], ends: true))
        #expect(run.events.suffix(2) == ["head 204", "end"])
        #expect(run.session?.takesStreams == true)
    }

    /// Trailers may follow the whole body of a response to a request that was sent.
    @Test func aResponseToACompleteRequestEndsWithItsStream() throws {
        let run = try SessionRun()
        try run.submit()
        run.sent()
        run.receive(
            HTTP2Bytes.settings(), HTTP2Bytes.head(1, [(":status", "200"), ("content-length", "1")]),
            HTTP2Bytes.data("a"))
        #expect(run.events.last == "body a")
        run.receive(HTTP2Bytes.head(1, [("t", "1")], ends: true))
        #expect(run.events.last == "end t:1\n")
    }

    @Test func aResponseBesideTheRequest() throws {
        let run = try SessionRun()
        let stream = try run.submit("POST", body: .stream(length: nil))
        run.parts = [nil]
        run.sent()
        run.receive(HTTP2Bytes.settings(), HTTP2Bytes.head(), HTTP2Bytes.data("a"))
        run.parts = [HTTP2BodyPart(count: 1, isEnd: true)]
        run.session?.resumeBody(stream)
        #expect(run.sentText().last == "DATA 1: 1 bytes, end")
        run.receive(HTTP2Bytes.data("b", ends: true))
        #expect(stream.isRequestSent && run.events.suffix(2) == ["body ab", "end"])
        #expect(run.sent().isEmpty)
    }

    @Test func aCancelledStreamCostsOneReset() throws {
        let run = try SessionRun()
        let (first, second) = (try run.submit(), try run.submit())
        // Nothing is sent of a request that is cancelled at once.
        run.session?.cancel(second)
        #expect(run.sentText().last == "HEADERS 1, end")
        run.session?.cancel(first)
        #expect(run.sentText() == ["RST_STREAM 1: 8"])
        run.forgetEvents()
        run.receive(HTTP2Bytes.settings(), HTTP2Bytes.head(), HTTP2Bytes.data("late", ends: true))
        #expect(run.events.filter { !$0.hasPrefix("capacity") } == [])
        #expect(run.session?.activeStreams == 0)
    }

    @Test func lateBytesOfCancelledStreamsAreGrantedToTheConnection() throws {
        var settings = HTTP2Session.Settings()
        settings.connectionWindow = 1 << 20
        let run = try SessionRun(settings)
        run.receive(HTTP2Bytes.settings())
        let piece = String(repeating: "x", count: 16 << 10)
        var granted = 0
        for number in 0..<20 {
            let stream = try run.submit()
            run.sent()
            run.receive(HTTP2Bytes.head(UInt32(2 * number + 1)))
            run.session?.cancel(stream)
            for _ in 0..<8 { run.receive(HTTP2Bytes.data(piece, UInt32(2 * number + 1))) }
            for frame in run.sent() where frame.kind == 8 && frame.stream == 0 {
                granted += Int(HTTP2ClientFrame.number(frame.payload))
            }
        }
        #expect(granted >= 20 * 128 << 10 - 512 << 10)
    }

    // MARK: Capacity

    @Test func theServersLimitCountsAtAnyTime() throws {
        let run = try SessionRun()
        #expect(run.session?.capacity == 100)
        run.receive(HTTP2Bytes.settings([(3, 2)]))
        #expect(run.session?.capacity == 2)
        for _ in 0..<3 { try run.submit() }
        #expect(run.sent().count { $0.kind == 1 } == 2)
        run.receive(HTTP2Bytes.settings([(3, 0)]))
        run.receive(HTTP2Bytes.head(1, ends: true), HTTP2Bytes.head(3, ends: true))
        #expect(run.sent().count { $0.kind == 1 } == 0)
        run.receive(HTTP2Bytes.settings([(3, 5)]))
        #expect(run.sentText().last == "HEADERS 5, end")
    }

    @Test func aLostConnectionTellsWhatWasNotSent() throws {
        let run = try SessionRun()
        try run.submit()
        run.sent()
        try run.submit()
        run.forgetEvents()
        run.session?.connectionEnded(EngineFailure(kind: .receive, message: "lost"))
        #expect(run.events == ["failed: receive lost", "failed 3: receive lost, unprocessed"])
        #expect(throws: EngineFailure.self) { try run.submit() }
    }

    @Test func aGoAwayStopsNewStreams() throws {
        let run = try SessionRun()
        try run.submit()
        run.sent()
        try run.submit()
        run.receive(HTTP2Bytes.settings(), HTTP2Bytes.goAway(last: UInt32(Int32.max)))
        run.sent()
        #expect(run.session?.takesStreams == false)
        #expect(run.failures.map(\.isUnprocessed) == [true])
        run.receive(HTTP2Bytes.goAway(last: 1), HTTP2Bytes.head(1, ends: true))
        #expect(run.events.last == "end")
        #expect(throws: EngineFailure.self) { try run.submit() }
    }

    @Test func aViolationEndsTheConnection() throws {
        let run = try SessionRun()
        try run.submit()
        run.sent()
        run.receive(HTTP2Bytes.settings())
        run.forgetEvents()
        // A window must not grow by nothing.
        run.receive(HTTP2Bytes.windowUpdate(0))
        #expect(run.sentText().contains("GOAWAY 0: 1"))
        #expect(run.failures.map(\.kind) == [.http2, .http2])
        #expect(run.events.last?.hasPrefix("broken") == true)
    }
}

/// The fields of a header block, decoded by nghttp2. Those that no table may hold begin with `!`.
@safe
private final class FieldTable {
    private typealias New = @convention(c) (UnsafeMutablePointer<OpaquePointer?>) -> Int32
    private typealias Decode =
        @convention(c) (
            OpaquePointer, UnsafeMutableRawPointer, UnsafeMutablePointer<Int32>, UnsafePointer<UInt8>, Int, Int32
        ) -> Int
    private typealias End = @convention(c) (OpaquePointer) -> Int32
    private typealias Delete = @convention(c) (OpaquePointer) -> Void
    private let inflater: OpaquePointer
    private let decode: Decode
    private let endHeaders: End
    private let delete: Delete

    init?() {
        guard let library = unsafe dlopen("libnghttp2.so.14", RTLD_NOW),
            let new = unsafe dlsym(library, "nghttp2_hd_inflate_new"),
            let decode = unsafe dlsym(library, "nghttp2_hd_inflate_hd2"),
            let end = unsafe dlsym(library, "nghttp2_hd_inflate_end_headers"),
            let delete = unsafe dlsym(library, "nghttp2_hd_inflate_del")
        else { return nil }
        unsafe self.decode = unsafeBitCast(decode, to: Decode.self)
        unsafe endHeaders = unsafeBitCast(end, to: End.self)
        unsafe self.delete = unsafeBitCast(delete, to: Delete.self)
        var inflater: OpaquePointer?
        guard unsafe unsafeBitCast(new, to: New.self)(&inflater) == 0, let inflater = unsafe inflater else {
            return nil
        }
        unsafe self.inflater = inflater
    }

    deinit { unsafe delete(inflater) }

    func fields(of block: [UInt8]) -> [String] {
        var fields: [String] = []
        unsafe withUnsafeTemporaryAllocation(byteCount: 40, alignment: 8) { field in
            unsafe block.withUnsafeBufferPointer { block in
                guard var next = block.baseAddress, let place = field.baseAddress else { return }
                let end = unsafe next + block.count
                while true {
                    var flags: Int32 = 0
                    let count = unsafe decode(inflater, place, &flags, next, end - next, 1)
                    guard count >= 0 else { return fields.append("malformed") }
                    unsafe next += count
                    if flags & 2 != 0 {
                        let isSecret = unsafe place.load(fromByteOffset: 32, as: UInt8.self) & 1 != 0
                        fields.append(unsafe (isSecret ? "!" : "") + text(place, 0, 16) + ": " + text(place, 8, 24))
                    }
                    let isAtEnd = unsafe next == end
                    if flags & 1 != 0 || isAtEnd && flags & 2 == 0 { break }
                }
                _ = unsafe endHeaders(inflater)
            }
        }
        return fields
    }

    private func text(_ field: UnsafeMutableRawPointer, _ start: Int, _ length: Int) -> String {
        let bytes = unsafe field.load(fromByteOffset: start, as: UnsafePointer<UInt8>.self)
        let count = unsafe field.load(fromByteOffset: length, as: Int.self)
        return unsafe String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }
}
