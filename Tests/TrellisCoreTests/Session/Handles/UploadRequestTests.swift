import FoundationEssentials
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The handles of requests with a body, and their progress.
@Suite(.timeLimit(.minutes(3)))
struct UploadRequestTests {
    private let scripted = Scripted()

    private func last(_ progress: TransferProgressSequence) -> Task<TransferProgress?, Never> {
        Task { await progress.reduce(nil) { $1 } }
    }

    enum Kind: String, CaseIterable, Sendable { case small, large, stream, streamOfUnknownLength, form }

    private func upload(_ kind: Kind, _ count: Int) -> UploadRequest {
        let data = Data(count: count)
        let url = "http://upload.example/"
        let chunks = AsyncStream<Data> { continuation in
            continuation.yield(data)
            continuation.finish()
        }
        switch kind {
        case .small, .large: return scripted.session.uploadRequest(data, to: url)
        case .stream: return scripted.session.uploadRequest(chunks, length: Int64(count), to: url)
        case .streamOfUnknownLength: return scripted.session.uploadRequest(chunks, to: url)
        case .form: return scripted.session.uploadRequest(to: url) { $0.append(data, withName: "data") }
        }
    }

    @Test(arguments: Kind.allCases)
    func progressEndsWithAllBytes(_ kind: Kind) async throws {
        let count = kind == .small ? 1000 : 300_000
        let upload = upload(kind, count)
        let progress = last(upload.uploadProgress)
        let answer = Task { try await upload.response(of: .data).status.code }
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        // The transport asks for more until the source has delivered the whole body.
        while kind != .small, attempt.count(of: .finishSending) == 0, !Task.isCancelled {
            attempt.needBody()
            await scripted.session.settle()
            await Task.yield()
        }
        attempt.receiveHead(status: 201)
        attempt.end()
        #expect(try await answer.value == 201)
        let end = try #require(await progress.value)
        if kind == .form {
            #expect(end.completedBytes > Int64(count))
        } else {
            #expect(end.completedBytes == Int64(count))
        }
        #expect(end.totalBytes == (kind == .streamOfUnknownLength ? nil : end.completedBytes))
        #expect(upload.method == .post)
    }

    /// An observer sees the latest number alone, and so may see no zero. Without the new start, the last number would be twice the body's.
    @Test func progressStartsOverWithTheNextAttempt() async throws {
        let retrying = Scripted { $0.steps.retriers.append(Once()) }
        let upload = retrying.session.uploadRequest(Data(count: 100_000), to: "http://upload.example/")
        var progress = upload.uploadProgress.makeAsyncIterator()
        let answer = Task { try await upload.response(of: .data).status.code }
        let first = try await retrying.transport.nextAttempt()
        first.connect()
        try await first.wait { $0.contains(.finishSending) }
        var latest: Int64 = 0
        while latest == 0 { latest = await progress.next()?.completedBytes ?? -1 }
        #expect(latest == 100_000)
        first.fail(.exchangeFailed(.receive("gone")))
        let second = try await retrying.transport.nextAttempt()
        second.connect()
        try await second.wait { $0.contains(.finishSending) }
        #expect(second.sentBody.count == 100_000)
        second.receiveHead(status: 200)
        second.end()
        #expect(try await answer.value == 200)
        var last: TransferProgress?
        while let next = await progress.next() { last = next }
        #expect(last?.completedBytes == 100_000)
    }

    @Test func aBodyThatCannotBeSentAgainIsAnErrorOfItsOwn() async throws {
        let retrying = Scripted { $0.steps.retriers.append(Once()) }
        let chunks = AsyncStream<Data> { $0.finish() }
        let upload = retrying.session.uploadRequest(chunks, to: "http://upload.example/")
        let answer = Task { try await upload.response(of: .data).status.code }
        let first = try await retrying.transport.nextAttempt()
        first.connect()
        first.fail(.exchangeFailed(.receive("gone")))
        let error = await #expect(throws: TrellisError.self) { try await answer.value }
        #expect(error?.kind == .bodyNotReplayable)
    }

    @Test func progressCanBeAskedForAtAnyTime() async throws {
        let upload = scripted.session.uploadRequest(Data(count: 100_000), to: "http://upload.example/")
        let answer = Task { try await upload.response(of: .data).status.code }
        let attempt = try await scripted.transport.nextAttempt()
        attempt.connect()
        try await attempt.wait { $0.contains(.finishSending) }
        await scripted.session.settle()
        let late = upload.uploadProgress
        await scripted.session.settle()
        var reader = late.makeAsyncIterator()
        #expect(await reader.next()?.completedBytes == 100_000)
        attempt.receiveHead()
        attempt.end()
        _ = try await answer.value
        let after = try #require(await last(upload.uploadProgress).value)
        #expect(after.completedBytes == 100_000)
    }

    @Test(arguments: ["cancel", "drop"])
    func progressEndsHoweverTheRequestDoes(_ end: String) async throws {
        var upload: UploadRequest? = scripted.session.uploadRequest(Data(count: 100), to: "http://upload.example/")
        let progress = try last(#require(upload).uploadProgress)
        if end == "cancel" { upload?.cancel() }
        upload = nil
        #expect(await progress.value?.completedBytes == 0)
    }

    @Test func aRequestThatCannotBeMadeHasNoProgress() async {
        let upload = scripted.session.uploadRequest(Data(), to: "no url")
        #expect(await last(upload.uploadProgress).value?.completedBytes == 0)
    }

    @Test func whatTheFormsMakerThrowsIsThrownByTheReader() async {
        struct Refused: Error {}
        let upload = scripted.session.uploadRequest(to: "http://upload.example/") { _ in throw Refused() }
        await #expect(throws: Refused.self) { try await upload.data() }
    }

    @Test func theVerbsAndTheHandlesAreToldApart() async throws {
        let session = Session(transport: MockTransport { .text("\($0.body?.data?.count ?? 0)") })
        let url = "http://upload.example/"
        let (data, _) = try await session.upload(Data(count: 5), to: url)
        let text = try await session.uploadRequest(Data(count: 6), to: url).validate().string()
        let request = session.uploadRequest(.string("seven"), to: Request(url, method: .put))
        #expect(String(decoding: data, as: UTF8.self) == "5")
        #expect(text == "6")
        #expect(try request.request.method == .put)
        #expect(try await request.string() == "5")
    }

    /// An error of another request, whose response is the body, is not mistaken for an error of this request.
    @Test(arguments: [true, false])
    func anErrorOfTheSourceIsTheCause(_ isMadeForEachSending: Bool) async throws {
        let cause = TrellisError(.timedOut(.total), url: "http://source.example/")
        let body: RequestBody =
            isMadeForEachSending
            ? .stream(makingChunks: { () async throws -> AsyncStream<Data> in throw cause })
            : .stream(AsyncThrowingStream<Data, any Error> { $0.finish(throwing: cause) })
        let session = Session(configuration: SessionConfiguration(), transport: MockTransport { _ in .text("") })
        let request = Request("http://upload.example/", method: .post, body: body)
        let error = await #expect(throws: TrellisError.self) { try await session.data(request) }
        #expect(error?.reason == .bodyFailed(.sourceFailed) && error?.url == "http://upload.example/")
        #expect((error?.underlying as? TrellisError)?.reason == .timedOut(.total))
    }
}

private struct Once: RequestRetrier {
    func retry(_ attempt: FailedAttempt, context: CallContext) async -> RetryResult {
        context.attempt == 1 ? .retry : .doNotRetry
    }
}

extension DataRequest {
    fileprivate var method: HTTPRequest.Method? { try? request.method }
}
