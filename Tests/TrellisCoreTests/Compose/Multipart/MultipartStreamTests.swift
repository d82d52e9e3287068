import FoundationEssentials
import Testing
import TrellisTesting

@testable import TrellisCore

/// Multipart forms whose parts are files and streams.
@Suite(.timeLimit(.minutes(3)))
struct MultipartStreamTests {
    private static func chunks(_ texts: String...) -> AsyncStream<Data> {
        AsyncStream { continuation in
            for text in texts { continuation.yield(Data(text.utf8)) }
            continuation.finish()
        }
    }

    private static func prepare(_ form: MultipartFormData) throws -> PreparedRequest {
        try RequestPreparationTests.prepare(Request("http://localhost/", method: .post, body: .multipart(form)))
    }

    @Test func theLengthIsKnownWhereThatOfEveryPartIs() throws {
        var form = MultipartFormData(boundary: "B")
        #expect(try form.contentLength() == 7)
        form.append(.stream(Self.chunks("abc"), length: 3), withName: "s")
        let length = try form.contentLength()
        #expect(length == 61)
        form.append(.stream(Self.chunks("abc")), withName: "t")
        #expect(try form.contentLength() == nil)
    }

    @Test func aFormCanBeSentAgainUnlessAStreamCannot() throws {
        var form = MultipartFormData()
        form.append(Data(count: 100_000), withName: "large")
        form.append(.stream { Self.chunks("again") }, withName: "made")
        #expect(try Self.prepare(form).streamedBody?.isReplayable == true)
        form.append(.stream(Self.chunks("once")), withName: "given")
        #expect(try Self.prepare(form).streamedBody?.isReplayable == false)
    }

    @Test func aFormOfFilesAndRepeatableStreamsIsTheSameEachTime() async throws {
        let path = "/tmp/trellis-\(UUID().uuidString).txt"
        try Data(repeating: 7, count: 600_000).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        var form = MultipartFormData()
        form.append(fileAt: path, withName: "f")
        form.append(.stream(length: 5) { Self.chunks("ag", "ain") }, withName: "made")
        form.append(.multipartMixed([.init(.file(path))]), withName: "inner")
        let first = try await form.encode(), second = try await form.encode()
        #expect(first == second)
        #expect(try form.contentLength() == Int64(first.count))
        #expect(first.count > 1_200_000)
        let name = try #require(path.split(separator: "/").last)
        #expect(first.prefix(200).contains("filename=\"\(name)\"\r\nContent-Type: text/plain\r\n\r\n".utf8))
    }

    /// Every stream must have the promised length: too many bytes in one part must not make up for too few in another.
    @Test(arguments: [(4, 2), (2, 4)])
    func everyStreamKeepsItsPromise(_ first: Int64, _ second: Int64) async {
        var form = MultipartFormData()
        form.append(.stream(Self.chunks("abc"), length: first), withName: "a")
        form.append(.stream(Self.chunks("abc"), length: second), withName: "b")
        let error = await #expect(throws: TrellisError.self) { try await form.encode() }
        #expect(error?.reason == .bodyFailed(.lengthMismatch(promised: first, given: 3)))
    }

    @Test(arguments: ["/tmp/trellis-no-such-file", "/tmp", "/dev/null"])
    func aFileThatCannotBeSentIsAnErrorThatNamesItBeforeAnythingIs(_ path: String) async throws {
        var form = MultipartFormData()
        form.append("x", withName: "a")
        form.append(.multipartMixed([.init(.file(path))]), withName: "inner")
        let transport = MockTransport { _ in .init() }
        let session = Session(transport: transport)
        let error = await #expect(throws: TrellisError.self) {
            try await session.upload(multipart: form, to: "http://localhost/")
        }
        #expect(error?.kind == .file)
        #expect(error?.mayHaveSentBytes == false)
        #expect(error?.description.contains(path) == true)
        #expect(transport.requests.isEmpty)
    }

    private static let impossible: [[Int64]] = [[.max], [.max, .max], [.max - 10], [-1], [5, -1], [.min]]

    @Test(arguments: impossible)
    func lengthsThatNoBodyCanHaveAreAnError(_ lengths: [Int64]) async throws {
        var form = MultipartFormData(boundary: "B")
        for length in lengths { form.append(.stream(Self.chunks("abc"), length: length), withName: "s") }
        let error = #expect(throws: TrellisError.self) { try form.contentLength() }
        #expect(error?.kind == .invalidRequest)
        let transport = MockTransport { _ in .init() }
        let failure = await #expect(throws: TrellisError.self) {
            try await Session(transport: transport).upload(multipart: form, to: "http://localhost/")
        }
        #expect(failure?.kind == .invalidRequest)
        #expect(transport.startedCount == 0)
    }

    // MARK: As a request

    @Test(arguments: [10, 200_000])
    func theServerGetsTheForm(_ size: Int) async throws {
        let server = try LoopbackServer.http { request in .init(body: request.body) }
        let session = Session()
        var form = MultipartFormData()
        form.append(Data(repeating: 65, count: size), withName: "bytes")
        let (data, _) = try await session.upload(multipart: form, to: server.url())
        #expect(data == (try await form.encode()))
        let request = try #require(server.requests.first)
        #expect(request.method == "POST")
        #expect(request["Content-Type"] == form.contentType)
        #expect(request["Content-Length"] == "\(data.count)")
        await session.shutdown()
    }

    @Test func aFormWithAStreamOfUnknownLengthIsSentInChunks() async throws {
        let server = try LoopbackServer.http { request in .init(body: request.body) }
        let session = Session()
        var boundary = ""
        let (data, _) = try await session.upload(to: server.url()) { form in
            boundary = form.boundary
            form.append(.stream(Self.chunks("a", "b", "c")), withName: "s", fileName: "x.csv")
        }
        let text = String(decoding: data, as: UTF8.self)
        #expect(text.hasSuffix("\r\nContent-Type: text/csv\r\n\r\nabc\r\n--\(boundary)--\r\n"))
        #expect(server.requests.first?["Transfer-Encoding"] == "chunked")
        await session.shutdown()
    }
}

extension Data {
    fileprivate func contains(_ bytes: some Sequence<UInt8>) -> Bool { firstRange(of: Array(bytes)) != nil }
}
