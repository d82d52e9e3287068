#if Observability
import CurlEngine
import FoundationEssentials
import HTTPTypes
import MetricsTestKit
import Testing
import Trellis
import TrellisObservability
import TrellisTesting

/// The sizes of bodies are the bytes that were sent and received, also of streams, whose sizes are known at their end.
@Suite(.timeLimit(.minutes(3)))
struct BodySizeTests {
    private static let url = "https://api.example.com/users/7"

    /// The sizes of one direction, of all series.
    private static func sizes(_ direction: String, _ backends: Backends) -> [Double] {
        backends.metrics.recorders(label: "http.client.\(direction).body.size").flatMap(\.values)
    }

    /// Waits until a number of sizes of responses are recorded: those of a stream are a task's work, which follows the stream.
    private static func waitForResponses(_ count: Int, _ backends: Backends) async {
        while sizes("response", backends).count < count, !Task.isCancelled { await Task.yield() }
    }

    /// A body of some kilobytes, coded, which fills more than one chunk of a socket.
    private static func coded() throws -> (plain: Data, coded: Data) {
        let plain = Data((0..<60_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
        let encoder = try #require(ContentEncoder(.gzip))
        return (plain, try encoder.encode(plain, isLast: true))
    }

    @Test(arguments: [true, false])
    func theSizeOfAStreamIsKnownAtItsEnd(isAnnounced: Bool) async throws {
        let backends = Backends()
        let gate = LoopbackServer.Gate()
        let headers: HTTPFields = isAnnounced ? [.contentLength: "6"] : [:]
        let transport = MockTransport { _ in
            MockResponse(headers: headers) { writer in
                try await gate.opened()
                for part in ["abc", "def"] { try await writer.write(part) }
            }
        }
        let session = Session.observed(transport)
        let stream = try await backends { try await session.stream(Self.url) }
        // The observation ends with the head.
        #expect(backends.spans.count == 1 && backends.metrics.meters.map(\.lastValue) == [0])
        #expect(Self.sizes("response", backends) == [])
        gate.open()
        #expect(try await stream.chunks.collect(upTo: 10).count == 6)
        await Self.waitForResponses(1, backends)
        #expect(Self.sizes("response", backends) == [6] && Self.sizes("request", backends) == [])
        #expect(backends.spans.count == 1)
    }

    /// A body that is chunked and coded announces no length.
    @Test(arguments: [false, true])
    func aCodedBodyCountsAsItIsOnTheWire(isStream: Bool) async throws {
        let backends = Backends()
        let (plain, coded) = try Self.coded()
        let server = try LoopbackServer.http { _ in
            .init(
                200, headers: [(name: "Content-Encoding", value: "gzip")],
                body: .chunked { body in
                    try body.write([UInt8](coded.prefix(100)))
                    try body.write([UInt8](coded.dropFirst(100)))
                })
        }
        let session = Session.observed(nil)
        let received: Data
        if isStream {
            let stream = try await backends { try await session.stream(server.url("/")) }
            received = try await stream.chunks.collect(upTo: 1 << 20)
        } else {
            received = try await backends { try await session.data(server.url("/")).0 }
        }
        await Self.waitForResponses(1, backends)
        #expect(received == plain && coded.count < plain.count)
        #expect(Self.sizes("response", backends) == [Double(coded.count)])
    }

    @Test func aDownloadIsMeasured() async throws {
        let backends = Backends()
        let content = Data(repeating: 7, count: 300_000)
        let server = try LoopbackServer.http { _ in .init(200, body: content) }
        let session = Session.observed(nil)
        let file = try await backends { try await session.download(server.url("/")) }
        #expect(file.size == 300_000)
        try FileManager.default.removeItem(atPath: file.path)
        await Self.waitForResponses(1, backends)
        #expect(Self.sizes("response", backends) == [300_000])
    }

    @Test func aBodyFromASequenceIsMeasured() async throws {
        let backends = Backends()
        let server = try LoopbackServer.http { request in .text("\(request.body.count)") }
        let session = Session.observed(nil)
        let (chunks, continuation) = AsyncStream.makeStream(of: Data.self)
        for count in [1, 20_000, 300] { continuation.yield(Data(repeating: 1, count: count)) }
        continuation.finish()
        let (answer, _) = try await backends { try await session.upload(chunks, to: server.url("/")) }
        #expect(String(decoding: answer, as: UTF8.self) == "20301")
        #expect(Self.sizes("request", backends) == [20_301])
    }

    @Test func aCompressedBodyIsMeasuredAsItIsSent() async throws {
        let backends = Backends()
        let server = try LoopbackServer.http { request in .text("\(request.body.count)") }
        let session = Session.observed(nil)
        var request = Request(server.url("/"), method: .post, body: .data(Data(repeating: 1, count: 50_000)))
        request.compression = .gzip
        let sent = request
        let answer = try await backends { try await session.string(sent) }
        let size = try #require(Double(answer))
        #expect(size > 0 && size < 50_000)
        #expect(Self.sizes("request", backends) == [size])
    }

    /// The whole body of a stream that its reader leaves is not received.
    @Test func aStreamThatIsLeftCountsWhatWasReceived() async throws {
        let backends = Backends()
        let (transport, hasRead) = (ScriptedTransport(), LoopbackServer.Gate())
        let session = Session.observed(transport)
        let task = Task {
            try await backends {
                for try await _ in try await session.stream(Self.url).chunks { hasRead.open() }
            }
        }
        let attempt = try await transport.nextAttempt()
        attempt.connect()
        attempt.receiveHead(status: 200)
        attempt.receiveBody("hello")
        try await hasRead.opened()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await Self.waitForResponses(1, backends)
        #expect(Self.sizes("response", backends) == [5])
    }

    @Test func aResponseWithoutABodyHasASizeOfZero() async throws {
        let backends = Backends()
        let session = Session.observed(
            MockTransport { _ in MockResponse(status: 304, headers: [.contentLength: "5"]) })
        _ = try? await backends { try await session.data(Self.url) }
        #expect(Self.sizes("response", backends) == [0])
    }

    /// A request that no server has received has no sizes.
    @Test func aRefusedRequestHasNoSizes() async throws {
        let backends = Backends()
        let session = Session.observed(
            MockTransport { _ in throw TransportFailure(.connectionFailed(.unreachable("refused"))) })
        let request = Request(Self.url, method: .post, body: .string("abc"))
        await #expect(throws: TrellisError.self) { try await backends { try await session.data(request) } }
        #expect(Self.sizes("request", backends) == [] && Self.sizes("response", backends) == [])
    }
}
#endif
