import Foundation
import TestSupport
import Testing
import TrellisTesting

@testable import CurlEngine
@testable import TrellisCore

/// The lookup of file sizes: the requests that need one, and the calls that wait for it.
@Suite(.timeLimit(.minutes(3)))
struct FileSizeTests {
    private static func form(_ path: String) -> RequestBody {
        var form = MultipartFormData(boundary: "B")
        form.append(.multipartMixed([.init(.file(path))], boundary: "C"), withName: "inner")
        return .multipart(form)
    }

    private static let makers: [@Sendable (String) -> Request] = [
        { Request("http://localhost/", method: .put, body: .file($0)) },
        { Request("http://localhost/", method: .post, body: form($0)) },
        {
            var request = Request("http://localhost/", method: .put, body: .file($0))
            request.compression = .gzip
            return request
        },
    ]

    @Test(arguments: makers.indices)
    func aSizeThatIsKnownIsNotAskedFor(_ index: Int) async throws {
        let path = NSTemporaryDirectory() + "/trellis-\(UUID().uuidString)"
        try Data(count: 12345).write(to: URL(filePath: path))
        let request = Self.makers[index](path)
        #expect(request.hasFiles)
        let sizes = try await FileSizes(of: request.body)
        let asked = try RequestPreparationTests.prepare(request)
        try FileManager.default.removeItem(atPath: path)
        #expect(throws: TrellisError.self) { try RequestPreparationTests.prepare(request) }
        let prepared = try RequestPreparation(SessionConfiguration())
            .prepare(request, delivery: .memory, start: .init(nanoseconds: 1), sizes: sizes)
        #expect(prepared.streamedBody?.length == asked.streamedBody?.length)
    }

    @Test func aFileThatCannotBeSentIsAnErrorWhenItIsLookedUp() async throws {
        let sizes = try await FileSizes(of: Self.form("/tmp/trellis-no-such-file"))
        let error = #expect(throws: TrellisError.self) { try sizes["/tmp/trellis-no-such-file"] }
        #expect(error?.kind == .file)
        #expect(throws: Never.self) { try #expect(sizes["/tmp/another"] == nil) }
    }

    @Test func bodiesInMemoryHaveNoFiles() {
        let chunks = AsyncStream<Data> { $0.finish() }
        for body in [nil, .string("text"), .stream(chunks), .multipart(MultipartFormData())] as [RequestBody?] {
            #expect(!Request("http://localhost/", body: body).hasFiles)
        }
    }

    /// A call whose body is a file.
    enum Upload: CaseIterable, Sendable {
        case verb, handle
        /// An adapter sets the body.
        case adapted

        var request: Request {
            let request = Request("http://localhost/", method: .put).withTimeouts(Timeouts(total: .seconds(5)))
            let change: @Sendable (Request) -> Request = {
                var request = $0
                request.body = .file(#filePath)
                return request
            }
            return self == .adapted ? request.withAdapter(Adapter { request, _ in change(request) }) : change(request)
        }
    }

    /// All threads that may wait for a disk hang.
    @Test(arguments: Upload.allCases)
    func aDiskThatHangsKeepsNoCallFromEnding(_ kind: Upload) async throws {
        let scripted = Scripted(), pipe = Pipe()
        let reading = pipe.fileHandleForReading
        for _ in 0..<BlockingThreadPool.maximumCount {
            BlockingThreadPool.begin { _ = try? reading.read(upToCount: 1) }
        }
        defer { try? pipe.fileHandleForWriting.close() }
        let isOver = LoopbackServer.Gate()
        let upload = Task { [request = kind.request, session = scripted.session] in
            defer { isOver.open() }
            return kind == .handle
                ? try await session.request(request).response(of: .data).status.code
                : try await session.data(request).1.status.code
        }
        while !isOver.isOpen, !Task.isCancelled { await scripted.advance(by: .seconds(5)) }
        let error = await #expect(throws: TrellisError.self) { try await upload.value }
        #expect(error?.kind == .totalTimeout)
        #expect(scripted.transport.attempts.isEmpty, "its length is not known")
    }
}
