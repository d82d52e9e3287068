import CurlEngine
import Foundation
import HTTPTypes
import Testing
import Trellis

@testable import TrellisTesting

/// Failures, endings and files that are not as they should be.
@Suite(.timeLimit(.minutes(3)))
struct CassetteFaultTests {
    private let folder: CassetteTestFolder

    init() throws { folder = try CassetteTestFolder() }

    private func session(_ mode: CassetteMode, _ handler: @escaping MockTransport.Handler = { _ in .text("") })
        -> Session
    {
        Session(transport: CassetteTransport(folder.cassette(mode), upstream: MockTransport(handler)))
    }

    /// The reasons of a transport's failures, with the phase in which a session reports them.
    static let reasons: [TrellisError.Reason] = [
        .connectionFailed(.nameResolution("no such name")), .connectionFailed(.unreachable("refused")),
        .securityFailed(.handshake("no common version")),
        .securityFailed(.untrusted(UntrustedCertificate(.selfSigned))),
        .proxyFailed(.unreachable(proxy: "p.example:1", reason: "refused")), .exchangeFailed(.send("broken pipe")),
        .exchangeFailed(.receive("reset")), .exchangeFailed(.http2("stream error")),
        .exchangeFailed(.http2NotAgreed),
        .invalidResponse(.malformed("status line")),
        .invalidResponse(.contentCoding("gzip")), .unsupported("HTTP/3"), .other("odd"),
    ]

    @Test(arguments: reasons)
    func aFailureIsReplayedAsOneOfItsKind(_ reason: TrellisError.Reason) async throws {
        let first = session(.once) { _ in throw TransportFailure(reason) }
        let recorded = await #expect(throws: TrellisError.self) { try await first.data("http://a.example/") }
        let second = session(.none) { _ in throw TransportFailure(.other("a request reached the network")) }
        let replayed = await #expect(throws: TrellisError.self) { try await second.data("http://a.example/") }
        #expect(recorded?.reason == reason)
        #expect(replayed?.kind == recorded?.kind && replayed?.mayHaveSentBytes == recorded?.mayHaveSentBytes)
        #expect(replayed?.isRetryable == recorded?.isRetryable)
        let entry = try #require(try HARDocument(json: Data(folder.text().utf8)).entries.first)
        #expect(entry.response.status == 0 && entry.response.error == "\(reason)")
    }

    @Test func aResponseThatIsCutShort() async throws {
        let first = session(.once) { _ in
            MockResponse { body in
                try await body.write("hal")
                throw TransportFailure(.invalidResponse(.bodyCutShort("3 of 6 bytes")))
            }
        }
        for session in [first, session(.none)] {
            let stream = try await session.stream("http://a.example/")
            var received = Data()
            let error = await #expect(throws: TrellisError.self) {
                for try await chunk in stream.chunks { received += chunk }
            }
            #expect(received == Data("hal".utf8))
            #expect(error?.reason == .invalidResponse(.bodyCutShort("3 of 6 bytes")))
        }
    }

    /// A body that its reader has left is replayed up to there, and reading further is an error that says why.
    @Test func aBodyThatItsReaderHasLeft() async throws {
        let never = LoopbackServer.Gate()
        let first = session(.once) { _ in
            MockResponse { body in
                try await body.write("one")
                try await never.opened()
            }
        }
        for try await chunk in try await first.stream("http://a.example/").chunks {
            #expect(chunk == Data("one".utf8))
            break
        }
        while folder.names != ["test.har"], !Task.isCancelled { await Task.yield() }
        let second = session(.none)
        for try await chunk in try await second.stream("http://a.example/").chunks {
            #expect(chunk == Data("one".utf8))
            break
        }
        let error = await #expect(throws: TrellisError.self) { try await self.session(.none).data("http://a.example/") }
        #expect(error?.description.contains("because its reader left here") == true)
    }

    /// A request that is given up before its response is not recorded.
    @Test func aRequestThatIsCancelled() async throws {
        let never = LoopbackServer.Gate(), asked = LoopbackServer.Gate()
        let transport = CassetteTransport(
            folder.cassette(.once),
            upstream: MockTransport { request in
                if request.path == "/2" { return .text("") }
                asked.open()
                try await never.opened()
                return .text("")
            })
        let session = Session(transport: transport)
        let call = Task { try await session.data("http://a.example/1") }
        try await asked.opened()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        _ = try await session.data("http://a.example/2")
        try await transport.finish()
        #expect(try HARDocument(json: Data(folder.text().utf8)).entries.map(\.request.url) == ["http://a.example/2"])
    }

    /// A connection that is not made does not count as made, so that a request that must not be repeated is.
    @Test func aConnectionThatIsRefusedIsRetried() async throws {
        var retry = RetryPolicy(retryLimit: 1)
        retry.exponentialBackoffScale = .zero
        let upstream = FaultTransport(
            wrapping: MockTransport { _ in .text("at last") }, faults: [.first(1, .refusedConnection)])
        let first = CassetteTransport(folder.cassette(.once), upstream: upstream)
        for transport in [first, CassetteTransport(folder.cassette(.none))] {
            var configuration = SessionConfiguration()
            configuration.steps.intercept(with: retry)
            let session = Session(configuration: configuration, transport: transport)
            let (data, response) = try await session.upload(Data("a".utf8), to: "http://a.example/")
            #expect(String(decoding: data, as: UTF8.self) == "at last" && response.metrics.attemptCount == 2)
        }
    }

    // MARK: Files

    @Test(
        arguments: [
            ("", 1, "a JSON object is expected"),
            ("{\n\"log\": {\n\"entries\": [\n{}]}}", 4, "an entry has no method or no URL"),
            ("<html>", 1, "a JSON object is expected"),
        ])
    func aFileThatIsNoDocument(_ text: String, _ line: Int, _ reason: String) async throws {
        try folder.write(text)
        let transport = CassetteTransport(folder.cassette(.new))
        let error = await #expect(throws: TrellisError.self) {
            try await Session(transport: transport).data("http://a.example/")
        }
        let wanted = CassetteError.malformed(path: folder.path(), line: line, reason: reason)
        #expect(error?.reason == .other("\(wanted)"))
        await #expect(throws: wanted) { try await transport.unusedRecordings() }
        #expect(try folder.text() == text, "a file that cannot be read is not replaced")
    }

    @Test func anEntryThatCannotBeDecoded() async throws {
        try folder.write(
            "{\"log\":{\"entries\":[\n{\"request\":{\"method\":\"GET\",\"url\":\"http://a.example/\"},\"response\":{\"status\":\"x\"}}]}}"
        )
        let error = await #expect(throws: TrellisError.self) { try await session(.none).data("http://a.example/") }
        #expect(error?.description.contains("line 2: the entry that begins here: ") == true)
    }

    @Test func aFolderInPlaceOfTheFile() async throws {
        try FileManager.default.createDirectory(atPath: folder.path(), withIntermediateDirectories: true)
        let error = await #expect(throws: TrellisError.self) { try await session(.once).data("http://a.example/") }
        #expect(error?.description.contains("it is not a regular file") == true)
    }

    /// The folders of a new cassette are made.
    @Test func theFoldersAreMade() async throws {
        let transport = CassetteTransport(
            Cassette(path: folder.path("a/b/c"), mode: .once), upstream: MockTransport { _ in .text("hello") })
        #expect(try await Session(transport: transport).string("http://a.example/") == "hello")
        #expect(try folder.text("a/b/c").contains("hello"))
    }

    /// A reader of the path finds the old file or the new one.
    @Test func theFileIsReplacedAsAWhole() async throws {
        let operations = Locked<[FileOperationHook.Operation]>([])
        let handler: FileOperationHook.Handler = { operation, moment in
            if moment == .before, operation.isChange { operations.withLock { $0.append(operation) } }
            return nil
        }
        let cassette = folder.cassette(.once)
        let tape = CassetteTape(cassette)
        try await FileOperationHook.$handler.withValue(handler) {
            try await tape.open()
            let request = HARDocument.Request(method: "GET", url: "http://a.example/")
            try await tape.record(
                HARDocument.Entry(startedDateTime: "", request: request, response: .init(status: 200)), as: 1)
        }
        #expect(operations.withLock { $0 } == [.rename(from: "\(cassette.path).new", to: cassette.path)])
    }

    /// A large cassette is not written with each of its recordings, and is complete at the end.
    @Test func aLargeCassette() async throws {
        // More than a mebibyte together, and each less than a sixteenth of that.
        let body = Data(repeating: UInt8(ascii: "a"), count: 30_000)
        let transport = CassetteTransport(
            folder.cassette(.once), upstream: MockTransport { _ in MockResponse(body: body) })
        let session = Session(transport: transport)
        for number in 0..<40 { _ = try await session.data("http://a.example/\(number)") }
        try await transport.finish()
        let second = CassetteTransport(folder.cassette(.none))
        #expect(try await second.unusedRecordings().count == 40)
    }

    /// The entries are not decoded before they are replayed.
    @Test func aCassetteWithManyEntries() async throws {
        let entries = (0..<10_000).map { number in
            """
            {"request": {"method": "GET", "url": "http://a.example/\(number)", "httpVersion": "", "cookies": [],
              "headers": [], "queryString": [], "headersSize": -1, "bodySize": 0},
             "response": {"status": 200, "statusText": "", "httpVersion": "HTTP/1.1", "cookies": [], "headers": [],
              "content": {"size": 4, "mimeType": "", "text": "entry \(number)"}, "redirectURL": "", "headersSize": -1,
              "bodySize": -1}}
            """
        }
        try folder.write(#"{"log":{"entries":[\#(entries.joined(separator: ",\n"))]}}"#)
        let transport = CassetteTransport(folder.cassette(.none))
        let session = Session(transport: transport)
        #expect(try await session.string("http://a.example/9999") == "entry 9999")
        let unused = try await transport.unusedRecordings()
        #expect(unused.count == 9_999 && unused.last == "GET http://a.example/9998")
    }

    @Test func conversationsAreNotReplayed() async throws {
        try folder.write(#"{"log":{"entries":[]}}"#)
        let error = await #expect(throws: TrellisError.self) {
            try await session(.none).webSocket("ws://a.example/")
        }
        #expect(error?.kind == .other)
        #expect(error?.description.contains("a cassette plays no WebSockets") == true)
    }
}
