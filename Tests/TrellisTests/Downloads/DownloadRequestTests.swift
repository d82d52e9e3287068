import Foundation
import HTTPTypes
import Testing
import TrellisTesting

@testable import Trellis

/// The handle of a download, with its time limits.
@Suite(.timeLimit(.minutes(1)))
struct DownloadRequestTests {
    private let clock = TestClock()
    private let transport: ScriptedTransport
    private let session: Session
    private let path = FileManager.default.temporaryDirectory.appending(path: "trellis-\(UUID().uuidString)").path

    init() {
        transport = ScriptedTransport(clock: clock)
        session = Session(transport: transport, clock: clock)
    }

    private func start(_ request: Request = Request("http://a.example/f")) async throws -> (
        DownloadRequest, ScriptedAttempt
    ) {
        let download = session.downloadRequest(request, to: .file(path))
        download.resume()
        return (download, try await transport.nextAttempt())
    }

    private func sendHead(_ attempt: ScriptedAttempt) {
        attempt.connect()
        attempt.receiveHead(headers: [.eTag: "\"a\"", .contentLength: "10"])
    }

    private func sendRest(_ attempt: ScriptedAttempt, from start: Int) {
        attempt.connect()
        attempt.receiveHead(
            status: 206, headers: [.eTag: "\"a\"", .contentRange: "bytes \(start)-9/10"])
        attempt.receiveBody(String("0123456789".dropFirst(start)))
        attempt.end()
    }

    private func isWhole() -> Bool {
        defer { try? FileManager.default.removeItem(atPath: path) }
        return FileManager.default.contents(atPath: path) == Data("0123456789".utf8)
    }

    @Test func itStartsWhenItIsAskedFor() async throws {
        let download = session.downloadRequest("http://a.example/f", to: .file(path))
        #expect(download.state == .initialized)
        await session.settle()
        #expect(transport.attempts.isEmpty)
        async let response = download.response
        let attempt = try await transport.nextAttempt()
        #expect(download.state == .resumed)
        sendHead(attempt)
        #expect(try await response.headers[.eTag] == "\"a\"")
        attempt.receiveBody("0123456789")
        attempt.end()
        #expect(try await download.value.size == 10)
        #expect(isWhole())
    }

    private struct Refused: Error {}

    /// A validator that is added after the progress sequence was created still counts: the sequence starts nothing before its
    /// first read.
    @Test func aSequenceOfProgressStartsNothingBeforeItIsRead() async throws {
        let download = session.downloadRequest("http://a.example/f", to: .file(path))
        let progress = download.progress
        await session.settle()
        #expect(download.state == .initialized && transport.attempts.isEmpty)
        download.validate { _, _, _ in throw Refused() }
        for await _ in progress { break }
        let attempt = try await transport.nextAttempt()
        sendHead(attempt)
        await #expect(throws: Refused.self) { try await download.value }
    }

    /// A validator that is added after the start is an error of both handles, since the response may have been accepted already.
    @Test(arguments: [false, true]) func aValidatorAfterTheStartIsAnError(_ hasAnswer: Bool) async throws {
        let (download, attempt) = try await start()
        if hasAnswer {
            sendHead(attempt)
            _ = try await download.response
        }
        let late = download.validate(statusCode: 200..<300)
        for handle in [download, late] {
            let error = await #expect(throws: TrellisError.self) { try await handle.value }
            #expect(error?.kind == .invalidRequest)
            #expect(error?.description.contains("a validator was added after the request had started") == true)
        }
        try await attempt.wait(for: .cancel)
    }

    /// A validator that is added after the end is an error of its own handle alone: the file stays.
    @Test func aValidatorAfterTheEndIsAnErrorOfItsHandle() async throws {
        let (download, attempt) = try await start()
        sendHead(attempt)
        attempt.receiveBody("0123456789")
        attempt.end()
        _ = try await download.value
        let late = download.validate { _, _, _ in }
        let error = await #expect(throws: TrellisError.self) { try await late.value }
        #expect(error?.kind == .invalidRequest)
        await #expect(throws: TrellisError.self) { try await late.response }
        #expect(try await download.value.size == 10 && isWhole())
    }

    /// Readers of the progress of queued downloads do not start these downloads.
    @Test func readersOfProgressStartNothingThatWaitsInABatch() async throws {
        let downloads = (0..<3).map { session.downloadRequest("http://a.example/\($0)", to: .file("\(path)-\($0)")) }
        let batch = session.downloads(of: downloads, maximumConcurrency: 1)
        let watchers = Task {
            await withTaskGroup { group in
                for download in downloads { group.addTask { for await _ in download.progress {} } }
            }
        }
        var iterator = batch.makeAsyncIterator()
        for index in 0..<3 {
            async let outcome = iterator.next()
            let attempt = try await transport.nextAttempt()
            await session.settle()
            #expect(transport.attempts.count == index + 1)
            sendHead(attempt)
            attempt.receiveBody("0123456789")
            attempt.end()
            #expect(await outcome?.index == index)
            try? FileManager.default.removeItem(atPath: "\(path)-\(index)")
        }
        await watchers.value
    }

    /// A minute without bytes is an interruption, and the download goes on with another attempt.
    @Test func aStallIsGoneOnWith() async throws {
        let (download, attempt) = try await start()
        sendHead(attempt)
        attempt.receiveBody("01234")
        for await progress in download.progress where progress.completedBytes == 5 { break }
        clock.advance(by: .seconds(60))
        // The download cancels the attempt first, and waits before the next one.
        try await attempt.wait(for: .cancel)
        for await _ in Ticks(clock, until: { transport.attempts.count == 2 }) {}
        let second = try await transport.nextAttempt()
        #expect(second.request.request.headers[.range] == "bytes=5-")
        sendRest(second, from: 5)
        #expect(try await download.value.interruptions == 1)
        #expect(isWhole())
    }

    @Test func holdingUpStopsTheTraffic() async throws {
        let (download, attempt) = try await start()
        sendHead(attempt)
        attempt.receiveBody("01234")
        for await progress in download.progress where progress.completedBytes == 5 { break }
        download.suspend()
        #expect(download.state == .suspended)
        try await attempt.wait(for: .suspend(true))
        // The idle limit does not apply to a suspended download.
        clock.advance(by: .seconds(3600))
        await session.settle()
        #expect(attempt.count(of: .cancel) == 0)
        download.resume()
        try await attempt.wait(for: .suspend(false))
        attempt.receiveBody("56789")
        attempt.end()
        #expect(try await download.value.interruptions == 0)
        #expect(isWhole())
    }

    @Test func heldUpBeforeItBegan() async throws {
        let download = session.downloadRequest("http://a.example/f", to: .file(path))
        download.suspend()
        async let file = download.value
        await session.settle()
        #expect(transport.attempts.isEmpty && download.state == .suspended)
        download.resume()
        let attempt = try await transport.nextAttempt()
        sendHead(attempt)
        attempt.receiveBody("0123456789")
        attempt.end()
        #expect(try await file.size == 10)
        #expect(isWhole())
    }

    @Test(arguments: [false, true])
    func cancelling(_ isHeld: Bool) async throws {
        let (download, attempt) = try await start()
        sendHead(attempt)
        attempt.receiveBody("01234")
        for await progress in download.progress where progress.completedBytes == 5 { break }
        if isHeld { download.suspend() }
        download.cancel()
        let error = await #expect(throws: TrellisError.self) { try await download.value }
        #expect(error?.kind == .cancelled && download.state == .cancelled)
        try await attempt.wait(for: .cancel)
        // The progress sequence has ended too.
        for await _ in download.progress {}
        let data = try #require(download.resumeData)
        #expect(data.receivedBytes == 5 && data.totalBytes == 10)
        try FileManager.default.removeItem(atPath: data.path)
    }

    @Test func cancellingBeforeItBegan() async throws {
        let download = session.downloadRequest("http://a.example/f", to: .file(path))
        download.cancel()
        let error = await #expect(throws: TrellisError.self) { try await download.value }
        #expect(error?.kind == .cancelled)
        await #expect(throws: TrellisError.self) { try await download.response }
        #expect(await download.cancelProducingResumeData() == nil)
        #expect(transport.attempts.isEmpty && download.resumeData == nil)
    }

    @Test func theTasksCancellationIsThatOfTheDownload() async throws {
        let download = session.downloadRequest("http://a.example/f", to: .file(path))
        let task = Task { try await download.value }
        let attempt = try await transport.nextAttempt()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await attempt.wait(for: .cancel)
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func withTheLastHandleItEnds() async throws {
        var download: DownloadRequest? = session.downloadRequest("http://a.example/f", to: .file(path))
        download?.resume()
        let attempt = try await transport.nextAttempt()
        let copy = download
        download = nil
        await session.settle()
        #expect(attempt.count(of: .cancel) == 0)
        _ = consume copy
        try await attempt.wait(for: .cancel)
    }

    /// The session's total time limit does not apply to downloads.
    @Test func aDownloadMayTakeItsTime() async throws {
        let (download, attempt) = try await start()
        sendHead(attempt)
        await session.settle()
        for digit in "01234567" {
            clock.advance(by: .seconds(59))
            attempt.receiveBody(String(digit))
            await session.settle()
        }
        attempt.receiveBody("89")
        attempt.end()
        _ = try await download.value
        #expect(isWhole())
    }

    /// The total time limit of the request spans all attempts.
    @Test func aLimitInTotalHolds() async throws {
        let (download, attempt) = try await start(
            Request("http://a.example/f").withTimeouts(Timeouts(idle: .seconds(40), total: .seconds(60))))
        sendHead(attempt)
        attempt.receiveBody("01234")
        for await progress in download.progress where progress.completedBytes == 5 { break }
        clock.advance(by: .seconds(40))
        try await attempt.wait(for: .cancel)
        for await _ in Ticks(clock, until: { transport.attempts.count == 2 }) {}
        let second = try await transport.nextAttempt()
        second.connect()
        // Before the connect limit is reached.
        await session.settle()
        clock.advance(by: .seconds(20))
        let error = await #expect(throws: TrellisError.self) { try await download.value }
        #expect(error?.kind == .deadline)
        try FileManager.default.removeItem(atPath: #require(download.resumeData?.path))
    }

    /// A failure before the first response is not retried by the download: that is left to the caller or to the session's
    /// retriers.
    @Test func aFirstFailureIsAnError() async throws {
        let (download, attempt) = try await start()
        attempt.fail(.connectionFailed(.unreachable("refused")))
        let error = await #expect(throws: TrellisError.self) { try await download.value }
        #expect(error?.kind == .connect && transport.attempts.count == 1)
    }
}

/// A sequence that advances a clock in steps until a condition holds.
private struct Ticks: AsyncSequence, AsyncIteratorProtocol {
    private let clock: TestClock
    private let isOver: () -> Bool

    init(_ clock: TestClock, until isOver: @escaping () -> Bool) {
        self.clock = clock
        self.isOver = isOver
    }

    func makeAsyncIterator() -> Ticks { self }

    func next() async -> Void? {
        if isOver() { return nil }
        clock.advance(by: .milliseconds(10))
        await Task.yield()
        return ()
    }
}
