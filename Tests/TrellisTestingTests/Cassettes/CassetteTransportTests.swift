import CurlEngine
import Foundation
import HTTPTypes
import Testing
import Trellis

@testable import TrellisTesting

/// Exchanges that are recorded with a transport and replayed without one.
@Suite(.timeLimit(.minutes(3)))
struct CassetteTransportTests {
    private let folder: CassetteTestFolder

    init() throws { folder = try CassetteTestFolder() }

    /// An upstream that a replay must not use.
    private static let noUpstream = MockTransport { _ in throw TransportFailure(.other("a request reached the network"))
    }

    private func cassette(_ mode: CassetteMode) -> Cassette { folder.cassette(mode) }

    /// Returns a session that records what an upstream answers.
    private func recording(
        _ cassette: Cassette, _ handler: @escaping MockTransport.Handler
    ) -> (session: Session, transport: CassetteTransport) {
        let transport = CassetteTransport(cassette, upstream: MockTransport(handler))
        return (Session(transport: transport), transport)
    }

    /// Returns a session that replays.
    private func replaying(_ cassette: Cassette) -> (session: Session, transport: CassetteTransport) {
        let transport = CassetteTransport(cassette, upstream: Self.noUpstream)
        return (Session(transport: transport), transport)
    }

    // MARK: Modes

    @Test func onceRecordsAndThenReplays() async throws {
        let (first, _) = recording(cassette(.once)) { request in .text("hello \(request.path)") }
        #expect(try await first.string("http://a.example/1") == "hello /1")
        #expect(try await first.string("http://a.example/2") == "hello /2")
        #expect(folder.names == ["test.har"])
        // A file of another process.
        try folder.write(folder.text(), to: "other")
        let (second, transport) = replaying(Cassette(path: folder.path("other"), mode: .once))
        #expect(try await second.string("http://a.example/2") == "hello /2")
        #expect(try await transport.unusedRecordings() == ["GET http://a.example/1"])
        #expect(try await second.string("http://a.example/1") == "hello /1")
        #expect(try await transport.unusedRecordings() == [])
        // A request that is not recorded is not sent.
        let error = await #expect(throws: TrellisError.self) { try await second.string("http://a.example/3") }
        #expect(error?.kind == .other && error?.isRetryable == false)
        #expect(transport.unmatchedRequests.count == 1 && Self.noUpstream.startedCount == 0)
    }

    @Test func noneNeedsAFile() async throws {
        let (session, transport) = replaying(cassette(.none))
        let error = await #expect(throws: TrellisError.self) { try await session.data("http://a.example/") }
        #expect(
            error?.description.contains("TRELLIS_CASSETTES=once swift test --filter CassetteTransportTests") == true)
        #expect(transport.unmatchedRequests == [.missing(path: folder.path(), command: cassette(.none).command(.once))])
        #expect(folder.names == [] && Self.noUpstream.startedCount == 0)
    }

    @Test func newAddsWhatIsNotRecorded() async throws {
        let (first, recorder) = recording(cassette(.once)) { _ in .text("old") }
        #expect(try await first.string("http://a.example/1") == "old")
        try await recorder.finish()
        let (second, _) = recording(cassette(.new)) { _ in .text("new") }
        #expect(try await second.string("http://a.example/2") == "new")
        #expect(try await second.string("http://a.example/1") == "old")
        #expect(try await second.string("http://a.example/1") == "new", "a recording is used once")
        let (third, transport) = replaying(cassette(.none))
        for (path, text) in [("1", "old"), ("1", "new"), ("2", "new")] {
            #expect(try await third.string("http://a.example/\(path)") == text)
        }
        #expect(try await transport.unusedRecordings() == [])
    }

    @Test func allRecordsAnew() async throws {
        let (first, recorder) = recording(cassette(.once)) { _ in .text("old") }
        for path in 1...3 { _ = try await first.string("http://a.example/\(path)") }
        try await recorder.finish()
        let (second, transport) = recording(cassette(.all)) { _ in .text("new") }
        #expect(try await transport.unusedRecordings() == [])
        #expect(try await second.string("http://a.example/1") == "new")
        #expect(try HARDocument(json: Data(folder.text().utf8)).entries.map(\.request.url) == ["http://a.example/1"])
    }

    /// A file is not replaced before something is recorded.
    @Test func allKeepsAFileUntilItRecords() async throws {
        let (first, _) = recording(cassette(.once)) { _ in .text("old") }
        _ = try await first.string("http://a.example/1")
        let (_, transport) = recording(cassette(.all)) { _ in .text("new") }
        try await transport.finish()
        #expect(try folder.text().contains("old"))
    }

    @Test func aFileIsRecordedByOneTransport() async throws {
        let (first, transport) = recording(cassette(.all)) { _ in .text("one") }
        _ = try await first.string("http://a.example/")
        let (second, _) = recording(cassette(.all)) { _ in .text("two") }
        let error = await #expect(throws: TrellisError.self) { try await second.string("http://a.example/") }
        #expect(error?.description.contains("is being recorded by another transport") == true)
        // The end of the first transport lets the second one go ahead.
        try await transport.finish()
        #expect(try await second.string("http://a.example/") == "two")
    }

    // MARK: Messages

    @Test func aRequestAndAResponse() async throws {
        let (first, _) = recording(cassette(.once)) { request in
            let body = String(decoding: request.body?.data ?? Data(), as: UTF8.self)
            var response = MockResponse(
                status: 201, headers: [.contentType: "text/plain", .eTag: "\"1\""],
                body: Data("\(request.method) \(body) \(request["X-A"] ?? "-")".utf8))
            response.head = ResponseHead(status: .created, headers: response.head.headers, version: .http2)
            response.informational = [ResponseHead(status: .earlyHints, headers: [.location: "/a"])]
            response.trailers["X-Sum"] = "7"
            return response
        }
        let request = Request(
            "http://a.example/?b=c", method: .put, headers: [HTTPField(name: HTTPField.Name("X-A") ?? .te, value: "1")],
            body: .string("é"))
        let (data, recorded) = try await first.data(request)
        let (again, response) = try await replaying(cassette(.none)).session.data(request)
        for (data, response) in [(data, recorded), (again, response)] {
            #expect(String(decoding: data, as: UTF8.self) == "PUT é 1")
            #expect(response.status == .created && response.version == .http2 && response.headers[.eTag] == "\"1\"")
            #expect(response.informational.map(\.status.code) == [103])
            #expect(response.informational.first?.headers[.location] == "/a")
            #expect(response.trailers["X-Sum"] == "7")
        }
    }

    @Test(arguments: [false, true])
    func aBodyThatIsStreamedComesInItsChunks(_ isLong: Bool) async throws {
        let length = isLong ? 100_000 : 3
        let pieces = (0..<5).map { Data(repeating: UInt8(ascii: "a") + UInt8($0), count: length) }
        let gates = pieces.map { _ in LoopbackServer.Gate() }
        let (first, _) = recording(cassette(.once)) { _ in
            MockResponse { body in
                for (piece, gate) in zip(pieces, gates) {
                    try await gate.opened()
                    try await body.write(piece)
                }
            }
        }
        var iterator = try await first.stream("http://a.example/").chunks.makeAsyncIterator()
        var chunks: [Data] = []
        for (number, gate) in gates.enumerated() {
            gate.open()
            while chunks.reduce(0, { $0 + $1.count }) < (number + 1) * length, let chunk = try await iterator.next() {
                chunks.append(chunk)
            }
        }
        #expect(try await iterator.next() == nil)
        #expect(Data(chunks.joined()) == Data(pieces.joined()))
        let entry = try #require(try HARDocument(json: Data(folder.text().utf8)).entries.first)
        let lengths = try #require(entry.replay?.chunks).map { Int($0[1]) }
        #expect(lengths.reduce(0, +) == 5 * length)
        #expect(isLong || lengths == [3, 3, 3, 3, 3])
        let replayed = try await replaying(cassette(.none)).session.data("http://a.example/").0
        #expect(replayed == Data(pieces.joined()))
    }

    @Test func aBinaryBody() async throws {
        let bytes = Data((0..<1_000).map { UInt8(truncatingIfNeeded: $0) })
        let (first, _) = recording(cassette(.once)) { request in
            #expect(request.body?.data == bytes)
            return MockResponse(body: bytes)
        }
        #expect(try await first.upload(bytes, to: "http://a.example/").0 == bytes)
        #expect(try await replaying(cassette(.none)).session.upload(bytes, to: "http://a.example/").0 == bytes)
        let entry = try #require(try HARDocument(json: Data(folder.text().utf8)).entries.first)
        #expect(entry.response.content.encoding == "base64" && entry.request.postData?.encoding == "base64")
    }

    @Test func aRequestBodyThatIsStreamed() async throws {
        let (first, _) = recording(cassette(.once)) { request in
            .text(String(decoding: request.body?.data ?? Data(), as: UTF8.self))
        }
        func send(_ session: Session) async throws -> String {
            let chunks = AsyncStream<[UInt8]> { continuation in
                for number in 0..<5 { continuation.yield(Array("\(number)".utf8)) }
                continuation.finish()
            }
            return String(decoding: try await session.upload(chunks, to: "http://a.example/").0, as: UTF8.self)
        }
        #expect(try await send(first) == "01234")
        var replayed = cassette(.none)
        replayed.matching.body = true
        #expect(try await send(replaying(replayed).session) == "01234")
    }

    @Test func theTrailersOfARequestAreSent() async throws {
        let upstream = MockTransport { _ in .text("hello") }
        let first = Session(transport: CassetteTransport(cassette(.once), upstream: upstream))
        let (second, _) = replaying(cassette(.none))
        let request = Request("http://a.example/", method: .post, body: .string("text")).withTrailers { [.eTag: "sum"] }
        for session in [first, second] { #expect(try await session.string(request) == "hello") }
        let sent = try #require(upstream.recordedRequests.first)
        #expect(sent.trailers == [.eTag: "sum"] && sent.body == Data("text".utf8))
    }

    @Test func redirectsAreRecordedHopByHop() async throws {
        let (first, _) = recording(cassette(.once)) { request in
            request.path == "/a" ? MockResponse(status: 302, headers: [.location: "/b"]) : .text("at last")
        }
        let (second, transport) = replaying(cassette(.none))
        for session in [first, second] {
            let (data, response) = try await session.data("http://a.example/a")
            #expect(String(decoding: data, as: UTF8.self) == "at last")
            #expect(response.redirects.map(\.to) == ["http://a.example/b"])
        }
        #expect(try await transport.unusedRecordings() == [])
    }

    @Test func recordingsAreUsedInTheirOrder() async throws {
        let count = Locked(0)
        let (first, _) = recording(cassette(.once)) { _ in
            .text("\(count.next())")
        }
        for number in 1...3 { #expect(try await first.string("http://a.example/") == "\(number)") }
        let (second, _) = replaying(cassette(.none))
        for number in 1...3 { #expect(try await second.string("http://a.example/") == "\(number)") }
        let error = await #expect(throws: TrellisError.self) { try await second.string("http://a.example/") }
        #expect(error?.description.contains("3 recordings of this request were used already") == true)
        var repeated = cassette(.none)
        repeated.allowsRepeats = true
        let (third, _) = replaying(repeated)
        for number in [1, 2, 3, 3, 3] { #expect(try await third.string("http://a.example/") == "\(number)") }
    }

    @Test func manyRequestsAtATime() async throws {
        @Sendable func send(_ session: Session) async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<100 {
                    group.addTask {
                        let text = try await session.string("http://a.example/\(number)")
                        #expect(text == "hello /\(number)")
                    }
                }
                try await group.waitForAll()
            }
        }
        let (first, _) = recording(cassette(.once)) { request in .text("hello \(request.path)") }
        try await send(first)
        let (second, transport) = replaying(cassette(.none))
        try await send(second)
        #expect(try await transport.unusedRecordings() == [])
        #expect(Self.noUpstream.startedCount == 0)
    }

    // MARK: Time

    @Test func aReplayWaitsOnAClock() async throws {
        let entry = """
            {"request": {"method": "GET", "url": "http://a.example/", "httpVersion": "", "cookies": [], "headers": [],
              "queryString": [], "headersSize": -1, "bodySize": 0},
             "response": {"status": 200, "statusText": "", "httpVersion": "HTTP/1.1", "cookies": [], "headers": [],
              "content": {"size": 4, "mimeType": "", "text": "abcd"}, "redirectURL": "", "headersSize": -1, "bodySize": -1},
             "timings": {"blocked": -1, "dns": -1, "connect": -1, "ssl": -1, "send": 0, "wait": 1000, "receive": 0},
             "_trellis": {"chunks": [[500, 1], [2000, 3]]}}
            """
        try folder.write(#"{"log":{"entries":[\#(entry)]}}"#)
        let clock = RecordedClock()
        var cassette = cassette(.none)
        cassette.clock = clock
        let (session, _) = replaying(cassette)
        var chunks: [Data] = []
        for try await chunk in try await session.stream("http://a.example/").chunks { chunks.append(chunk) }
        #expect(Data(chunks.joined()) == Data("abcd".utf8))
        #expect(clock.sleeps == [.seconds(1), .milliseconds(500), .seconds(2)])
    }
}

/// A clock that does not wait, and records the waits.
private final class RecordedClock: Clock {
    private let waits = Locked<[Duration]>([])

    var sleeps: [Duration] { waits.withLock { $0 } }
    var now: TestClock.Instant { TestClock.Instant(elapsed: .zero) }
    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until deadline: TestClock.Instant, tolerance: Duration?) async throws {
        waits.withLock { $0.append(deadline.elapsed) }
    }
}
