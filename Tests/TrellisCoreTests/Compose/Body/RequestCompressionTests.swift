import CurlEngine
import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The selection of the requests that are compressed, and the fields and body that are sent.
@Suite(.timeLimit(.minutes(3)))
struct RequestCompressionTests {
    typealias Algorithm = RequestCompression.Algorithm
    static let text = Data(String(repeating: "the same again and again, ", count: 10_000).utf8)
    static let available = Algorithm.allCases.filter { ContentCoding(name: $0.rawValue)?.canEncode == true }

    private static func decode(_ data: Data, _ coding: String) throws -> Data {
        let decoder = try #require(ContentDecoder(codings: [coding]))
        var result: [UInt8] = []
        // A copy through an array: a closure cannot hold a span.
        try [UInt8](data).withBytes { bytes in
            Result {
                try decoder.decode(bytes) { piece in
                    result += [UInt8](copying: piece); return true
                }
            }
        }.get()
        try decoder.finish()
        return Data(result)
    }

    /// Sends a request and returns the request as the server received it.
    private static func received(
        _ request: Request, _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) async throws -> TransportRequest {
        let transport = MockTransport { _ in .init() }
        var configuration = SessionConfiguration()
        change(&configuration)
        let session = Session(configuration: configuration, transport: transport)
        _ = try await session.data(request)
        return try #require(transport.requests.first)
    }

    private static func post(_ body: RequestBody?, _ compression: RequestCompression?) -> Request {
        var request = Request("http://localhost/", method: .post, body: body)
        request.compression = compression
        return request
    }

    // MARK: Fields and body

    @Test(arguments: available)
    func aBodyInMemoryIsCompressedAndHasALength(_ algorithm: Algorithm) async throws {
        let sent = Self.post(.data(Self.text, contentType: "text/plain"), RequestCompression(algorithm))
        let prepared = try RequestPreparationTests.prepare(sent)
        guard case .bytes(let bytes) = prepared.wire.body else {
            return #expect(Bool(false), "it is not in memory")
        }
        #expect(bytes.count < 10_000)
        let request = try await Self.received(sent)
        #expect(try Self.decode(try #require(request.body?.data), algorithm.rawValue) == Self.text)
        #expect(request.request.headers[.contentEncoding] == algorithm.rawValue)
        #expect(request.request.headers[.contentType] == "text/plain")
    }

    @Test(arguments: available)
    func aStreamIsCompressedWhileItIsSent(_ algorithm: Algorithm) async throws {
        let chunks = AsyncStream<Data> { continuation in
            for start in stride(from: 0, to: Self.text.count, by: 1000) {
                continuation.yield(Self.text[start..<min(start + 1000, Self.text.count)])
            }
            continuation.finish()
        }
        let sent = Self.post(.stream(chunks, length: Int64(Self.text.count)), RequestCompression(algorithm, level: 99))
        #expect(try RequestPreparationTests.prepare(sent).streamedBody?.length == nil)
        let request = try await Self.received(sent)
        #expect(try Self.decode(try #require(request.body?.data), algorithm.rawValue) == Self.text)
        #expect(request.request.headers[.contentEncoding] == algorithm.rawValue)
    }

    @Test func filesAndFormsAreCompressedToo() async throws {
        let path = "/tmp/trellis-\(UUID().uuidString)"
        try Self.text.write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let file = try await Self.received(Self.post(.file(path), .deflate))
        #expect(try Self.decode(try #require(file.body?.data), "deflate") == Self.text)
        var form = MultipartFormData()
        form.append(fileAt: path, withName: "f")
        let upload = try await Self.received(Self.post(.multipart(form), .gzip))
        #expect(try Self.decode(try #require(upload.body?.data), "gzip") == (try await form.encode()))
        #expect(upload.request.headers[.contentType] == form.contentType)
    }

    @Test(arguments: [
        (RequestBody.file("/etc/hostname"), true), (.stream { AsyncStream<Data> { $0.finish() } }, true),
        (.stream(AsyncStream<Data> { $0.finish() }), false),
    ])
    func whatCanBeSentAgainStillCan(_ body: RequestBody, _ isReplayable: Bool) throws {
        let prepared = try RequestPreparationTests.prepare(Self.post(body, .gzip))
        #expect(prepared.streamedBody?.isReplayable == isReplayable)
    }

    @Test func overTheWireAServerSeesChunks() async throws {
        let server = try LoopbackServer.http { request in .init(body: request.body) }
        let session = Session()
        let body = RequestBody.stream {
            AsyncStream<Data> {
                $0.yield(Self.text); $0.finish()
            }
        }
        let (data, _) = try await session.data(
            { () -> Request in
                var request = Self.post(body, .gzip)
                request.url = server.url()
                return request
            }())
        #expect(try Self.decode(data, "gzip") == Self.text)
        #expect(server.requests.first?["Transfer-Encoding"] == "chunked")
        #expect(server.requests.first?["Content-Encoding"] == "gzip")
        await session.shutdown()
    }

    // MARK: Selection of requests

    @Test(arguments: [nil, RequestBody.data(Data())])
    func nothingIsNotCompressed(_ body: RequestBody?) async throws {
        let request = try await Self.received(Self.post(body, .gzip))
        #expect(request.request.headers[.contentEncoding] == nil)
        #expect(request.body?.data?.isEmpty != false)
    }

    @Test func thePredicateDecides() async throws {
        let compression = RequestCompression { $0.headers[.contentType] == "text/css" }
        var request = Self.post(.data(Self.text), compression)
        #expect(try await Self.received(request).body?.data == Self.text)
        request.headers[.contentType] = "text/css"
        #expect(try await Self.received(request).body?.data != Self.text)
    }

    @Test(arguments: [true, false])
    func aCodingThatIsThereIsAnErrorUnlessAskedOtherwise(_ isDefault: Bool) async throws {
        func outcome(_ behavior: RequestCompression.DuplicateHeaderBehavior) async throws -> TransportRequest {
            var request = Self.post(
                .data(Self.text), RequestCompression(.gzip, duplicateHeaderBehavior: behavior))
            if !isDefault { request.headers[.contentEncoding] = "br" }
            return try await Self.received(request) {
                if isDefault { $0.defaultHeaders[.contentEncoding] = "br" }
            }
        }
        let error = await #expect(throws: TrellisError.self) { try await outcome(.error) }
        #expect(error?.kind == .invalidRequest)

        let skipped = try await outcome(.skip)
        #expect(skipped.body?.data == Self.text)
        #expect(skipped.request.headers[.contentEncoding] == "br")

        let replaced = try await outcome(.replace)
        #expect(replaced.request.headers[values: .contentEncoding] == ["gzip"])
        #expect(try Self.decode(try #require(replaced.body?.data), "gzip") == Self.text)
    }

    @Test func aFileThatIsMissingIsAnErrorBeforeAnythingIsSent() async throws {
        let error = await #expect(throws: TrellisError.self) {
            try await Self.received(Self.post(.file("/tmp/trellis-no-such-file"), .gzip))
        }
        #expect(error?.kind == .file)
        #expect(error?.mayHaveSentBytes == false)
    }
}
