import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisDownloads

/// The progress and the outcomes of a batch of downloads.
@Suite(.timeLimit(.minutes(3)))
struct DownloadBatchTests {
    private let world: ScriptedDownload
    private var session: Session { world.session }
    private var transport: ScriptedTransport { world.transport }

    init() throws { world = try ScriptedDownload() }

    private func downloads(_ count: Int) -> [DownloadRequest] {
        (0..<count).map { session.downloadRequest("http://a.example/\($0)", to: .file(world.folder.path("\($0)"))) }
    }

    @Test func readingTheProgressStartsNothing() async {
        let downloads = downloads(3)
        let batch = session.downloads(of: downloads, maximumConcurrency: 1)
        for await progress in batch.progress {
            #expect(progress.completedBytes == 0 && progress.totalBytes == nil)
            break
        }
        for download in downloads { for await _ in download.progress { break } }
        await session.settle()
        #expect(transport.attempts.isEmpty)
        #expect(downloads.allSatisfy { $0.state == .initialized })
        #expect(batch.count == 3 && batch.finishedCount == 0 && batch.currentProgress.completedBytes == 0)
    }

    @Test func theProgressIsThatOfAllDownloads() async throws {
        let downloads = downloads(2)
        let batch = session.downloads(of: downloads, maximumConcurrency: 2)
        let watching = Task {
            var last: TransferProgress?
            for await progress in batch.progress { last = progress }
            return last
        }
        let working = Task { for await _ in batch {} }
        let first = try await transport.nextAttempt()
        first.connect()
        first.receiveHead(headers: [.contentLength: "10"])
        let second = try await transport.nextAttempt()
        second.connect()
        second.receiveHead(headers: [.contentLength: "30"])
        for await progress in batch.progress where progress.totalBytes == 40 { break }
        first.receiveBody("0123456789")
        first.end()
        for await progress in batch.progress where progress.completedBytes == 10 { break }
        while batch.finishedCount == 0, !Task.isCancelled { await Task.yield() }
        #expect(batch.finishedCount == 1)
        second.receiveBody("01234")
        for await progress in batch.progress where progress.completedBytes == 15 { break }
        for download in downloads { download.cancel() }
        await working.value
        // A failed download counts with the bytes that have arrived.
        let last = await watching.value
        #expect(last?.completedBytes == 15 && last?.totalBytes == 15 && batch.finishedCount == 2)
    }

    /// Readers of a batch's progress end when the last handle of the batch is released.
    @Test func readersOfABatchThatIsReleasedEnd() async {
        var batch: DownloadBatch? = session.downloads(of: downloads(2))
        let progress = batch?.progress
        let watching = Task { if let progress { for await _ in progress {} } }
        _ = batch.take()
        await watching.value
        #expect(transport.attempts.isEmpty)
    }

    /// An outcome is never a `CancellationError`: that would be about another task than the one that reads the outcome.
    @Test func theOutcomeOfACancelledDownloadIsAnErrorOfThatKind() async throws {
        let download = world.download().validate { _, _, _ in throw CancellationError() }
        var iterator = session.downloads(of: [download]).makeAsyncIterator()
        async let outcome = iterator.next()
        world.sendHead(try await transport.nextAttempt())
        let result = try #require(await outcome).result
        let error = #expect(throws: TrellisError.self) { try result.get() }
        #expect(error?.kind == .cancelled && error?.url == ScriptedDownload.url)
    }

    /// A reader that leaves a download before its turn does not end it for its batch.
    @Test func aReaderThatLeavesBeforeTheTurnOfADownloadLeavesItToItsBatch() async throws {
        let downloads = downloads(2)
        let batch = session.downloads(of: downloads, maximumConcurrency: 1)
        let leaving = Task { try await downloads[1].value }
        let second = try await transport.nextAttempt()
        leaving.cancel()
        await #expect(throws: CancellationError.self) { try await leaving.value }
        #expect(downloads[1].state == .resumed)
        let reading = Task {
            var sizes: [Int64] = []
            for await outcome in batch { sizes.append(try outcome.result.get().size) }
            return sizes
        }
        world.sendFile(try await transport.nextAttempt())
        world.sendFile(second)
        #expect(try await reading.value == [10, 10])
    }

    /// A download that a batch has left ends with its last reader again.
    @Test func aDownloadOfAReleasedBatchEndsWithItsLastReader() async throws {
        let download = world.download()
        var iterator: DownloadBatch.AsyncIterator? = session.downloads(of: [download]).makeAsyncIterator()
        let reading = Task { try await download.value }
        let attempt = try await transport.nextAttempt()
        _ = iterator.take()
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
        try await attempt.wait(for: .cancel)
        #expect(download.state == .cancelled)
    }

    /// A program may exit when the loop of a cancelled task has ended: what was received is kept by then.
    @Test func aCancelledLoopEndsAfterItsDownloads() async throws {
        let download = world.download()
        let batch = session.downloads(of: [download])
        let reading = Task { for await _ in batch {} }
        let attempt = try await transport.nextAttempt()
        world.sendHead(attempt)
        try await world.receive(0..<5, attempt, download)
        reading.cancel()
        await reading.value
        #expect(download.resumeData?.receivedBytes == 5)
    }

    /// A cancelled task that reads a batch starts none of its downloads.
    @Test func aCancelledReaderStartsNothing() async throws {
        let downloads = downloads(2)
        let gate = LoopbackServer.Gate()
        let reading = Task { [session = world.session] in
            try? await gate.opened()
            var iterator = session.downloads(of: downloads).makeAsyncIterator()
            return await iterator.next()
        }
        reading.cancel()
        gate.open()
        #expect(await reading.value?.index == nil)
        await session.settle()
        #expect(transport.attempts.isEmpty && downloads.allSatisfy { $0.state == .cancelled })
    }
}
