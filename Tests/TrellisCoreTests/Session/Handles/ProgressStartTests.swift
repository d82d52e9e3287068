import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The first value of its progress that a reader requests starts a handle's request.
@Suite(.timeLimit(.minutes(3)))
struct ProgressStartTests {
    private let scripted = Scripted()

    private func last(_ progress: TransferProgressSequence) -> Task<TransferProgress?, Never> {
        Task { await progress.reduce(nil) { $1 } }
    }

    @Test(arguments: [true, false])
    func theProgressOfARequestInMemory(_ isUpload: Bool) async throws {
        let upload = scripted.session.uploadRequest(Data(count: 1000), to: "http://localhost/")
        let progress = isUpload ? upload.uploadProgress : upload.downloadProgress
        await scripted.session.settle()
        #expect(await upload.state == .initialized)
        let end = last(progress)
        let attempt = try await scripted.transport.nextAttempt()
        attempt.respond("hello")
        #expect(await end.value?.completedBytes == (isUpload ? 1000 : 5))
        #expect(try await upload.string() == "hello")
        #expect(scripted.transport.attempts.count == 1)
    }

    @Test func theProgressOfAStream() async throws {
        let request = scripted.session.streamRequest("http://localhost/")
        let end = last(request.downloadProgress)
        let attempt = try await scripted.transport.nextAttempt()
        attempt.respond("hello")
        #expect(try await request.response.chunks.collect(upTo: 100) == Data("hello".utf8))
        #expect(await end.value?.completedBytes == 5)
        #expect(scripted.transport.attempts.count == 1)
    }

    @Test func aSuspendedRequestStaysSuspended() async throws {
        let request = scripted.session.request("http://localhost/")
        request.suspend()
        var progress = request.downloadProgress.makeAsyncIterator()
        #expect(await progress.next()?.completedBytes == 0)
        await scripted.session.settle()
        #expect(await request.state == .suspended)
        request.resume()
        try await scripted.transport.nextAttempt().respond("hello")
        #expect(try await request.string() == "hello")
    }

    /// Retriers are asked about a response that the conditions of the handle refuse, as after `resume()`.
    @Test func theConditionsOfTheHandleAreThoseOfTheRequest() async throws {
        struct Refused: Error {}
        let retrying = Scripted {
            $0.steps.retriers = [Retrier { _, context in context.attempt == 1 ? .retry : .doNotRetry }]
        }
        let request = retrying.session.request("http://localhost/").validate { _, _, _ in throw Refused() }
        let end = last(request.downloadProgress)
        for _ in 0..<2 { try await retrying.transport.nextAttempt().respond("hello") }
        #expect(await end.value?.completedBytes == 5)
        await #expect(throws: Refused.self) { try await request.data() }
        #expect(retrying.transport.attempts.count == 2)
    }
}
