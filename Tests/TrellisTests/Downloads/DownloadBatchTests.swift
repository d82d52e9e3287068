import Foundation
import HTTPTypes
import Testing
import TrellisTesting

@testable import Trellis

/// The progress of a batch of downloads.
@Suite(.timeLimit(.minutes(1)))
struct DownloadBatchTests {
    private let clock = TestClock()
    private let transport: ScriptedTransport
    private let session: Session
    private let path = FileManager.default.temporaryDirectory.appending(path: "trellis-\(UUID().uuidString)").path

    init() {
        transport = ScriptedTransport(clock: clock)
        session = Session(transport: transport, clock: clock)
    }

    private func downloads(_ count: Int) -> [DownloadRequest] {
        (0..<count).map { session.downloadRequest("http://a.example/\($0)", to: .file("\(path)-\($0)")) }
    }

    private func removeFiles(_ count: Int) {
        for number in 0..<count { try? FileManager.default.removeItem(atPath: "\(path)-\(number)") }
    }

    @Test func readingItStartsNothing() async {
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

    @Test func itIsThatOfAllDownloads() async throws {
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
        while batch.finishedCount == 0 { await Task.yield() }
        #expect(batch.finishedCount == 1)
        second.receiveBody("01234")
        for await progress in batch.progress where progress.completedBytes == 15 { break }
        for download in downloads { download.cancel() }
        await working.value
        // A failed download counts with the bytes that have arrived.
        let last = await watching.value
        #expect(last?.completedBytes == 15 && last?.totalBytes == 15 && batch.finishedCount == 2)
        removeFiles(2)
    }

    /// Readers of a batch's progress end when the last handle of the batch is released.
    @Test func readersOfABatchThatIsLeftAreToldTheEnd() async {
        var batch: DownloadBatch? = session.downloads(of: downloads(2))
        let progress = batch?.progress
        let watching = Task { if let progress { for await _ in progress {} } }
        _ = batch.take()
        await watching.value
        #expect(transport.attempts.isEmpty)
    }
}
