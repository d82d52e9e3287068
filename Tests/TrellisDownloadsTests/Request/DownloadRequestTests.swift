import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
@_spi(Transport) import TrellisTesting

@_spi(Transport) @testable import TrellisCore
@testable import TrellisDownloads

/// The handle of a download, with its time limits.
@Suite(.timeLimit(.minutes(3)))
struct DownloadRequestTests {
    private let world: ScriptedDownload
    private var clock: TestClock { world.clock }
    private var session: Session { world.session }
    private var transport: ScriptedTransport { world.transport }

    init() throws { world = try ScriptedDownload() }

    @Test func itStartsWhenItIsRead() async throws {
        let download = world.download()
        #expect(download.state == .initialized)
        await session.settle()
        #expect(transport.attempts.isEmpty)
        async let response = download.response
        let attempt = try await transport.nextAttempt()
        #expect(download.state == .resumed)
        world.sendHead(attempt)
        #expect(try await response.headers[.eTag] == "\"a\"")
        attempt.receiveBody("0123456789")
        attempt.end()
        #expect(try await download.value.size == 10)
        #expect(world.isComplete)
    }

    private struct Refused: Error {}

    private struct Unmakable: RequestConvertible {
        func asRequest() throws -> Request { throw Refused() }
    }

    @Test func aHandleHasItsRequestAndDescribesItself() throws {
        let download = session.downloadRequest("http://a.example/f?token=s3cret", headers: [.accept: "a/b"])
        #expect(try download.request.url == "http://a.example/f?token=s3cret")
        #expect(try download.request.headers == [.accept: "a/b"])
        let text = "\(download)"
        #expect(text.hasPrefix("GET http://a.example/f") && text.hasSuffix(" (download)"))
        #expect(!text.contains("s3cret") && String(reflecting: download) == text)
        #expect(download.state == .initialized && transport.attempts.isEmpty)
    }

    @Test func theRequestOfAHandleIsCompletedByItsSession() throws {
        let world = try ScriptedDownload { $0.baseURL = "http://a.example/v1/" }
        let download = world.session.downloadRequest("f")
        #expect(try download.request.url == "http://a.example/v1/f")
        #expect("\(download)" == "GET http://a.example/v1/f (download)")
    }

    @Test func aRequestThatCannotBeSentHasAReason() {
        let unmakable = session.downloadRequest(Unmakable())
        #expect(throws: Refused.self) { try unmakable.request }
        #expect("\(unmakable)".hasPrefix("failed: "))
        let unsendable = session.downloadRequest("ftp://a.example/f")
        let error = #expect(throws: TrellisError.self) { try unsendable.request }
        #expect(error?.kind == .invalidURL)
        #expect("\(unsendable)".hasPrefix("failed: "))
    }

    /// A validator that is added after the progress sequence was created still counts: the sequence starts nothing before its
    /// first read.
    @Test func aSequenceOfProgressStartsNothingBeforeItIsRead() async throws {
        let download = world.download()
        let progress = download.progress
        await session.settle()
        #expect(download.state == .initialized && transport.attempts.isEmpty)
        _ = download.validate { _, _, _ in throw Refused() }
        for await _ in progress { break }
        let attempt = try await transport.nextAttempt()
        world.sendHead(attempt)
        await #expect(throws: Refused.self) { try await download.value }
    }

    /// A validator that is added after the start is an error of both handles, since the response may have been accepted already.
    @Test(arguments: [false, true]) func aValidatorAfterTheStartIsAnError(_ hasAnswer: Bool) async throws {
        let (download, attempt) = try await world.start()
        if hasAnswer {
            world.sendHead(attempt)
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
        let (download, attempt) = try await world.start()
        world.sendFile(attempt)
        _ = try await download.value
        let late = download.validate { _, _, _ in }
        let error = await #expect(throws: TrellisError.self) { try await late.value }
        #expect(error?.kind == .invalidRequest)
        await #expect(throws: TrellisError.self) { try await late.response }
        #expect(try await download.value.size == 10 && world.isComplete)
    }

    /// Readers of the progress of queued downloads do not start these downloads.
    @Test func readersOfProgressStartNoDownloadThatWaitsInABatch() async throws {
        let downloads = (0..<3).map {
            session.downloadRequest("http://a.example/\($0)", to: .file(world.folder.path("\($0)")))
        }
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
            world.sendFile(attempt)
            #expect(await outcome?.index == index)
        }
        await watchers.value
    }

    /// A minute without bytes is an interruption, and the download continues with another attempt.
    @Test func aStalledDownloadContinues() async throws {
        let (download, attempt) = try await world.start()
        world.sendHead(attempt)
        try await world.receive(0..<5, attempt, download)
        clock.move(by: .seconds(60))
        // The download cancels the attempt first, and waits before the next one.
        try await attempt.wait(for: .cancel)
        let second = try await world.nextAttempt(after: 1)
        #expect(second.request.request.headers[.range] == "bytes=5-")
        try world.sendPart(second)
        #expect(try await download.value.interruptions == 1)
        #expect(world.isComplete)
    }

    @Test func aSuspensionStopsTheTraffic() async throws {
        let (download, attempt) = try await world.start()
        world.sendHead(attempt)
        try await world.receive(0..<5, attempt, download)
        download.suspend()
        #expect(download.state == .suspended)
        try await attempt.wait(for: .suspend(true))
        // The idle limit does not apply to a suspended download.
        clock.move(by: .seconds(3600))
        await session.settle()
        #expect(attempt.count(of: .cancel) == 0)
        download.resume()
        try await attempt.wait(for: .suspend(false))
        attempt.receiveBody("56789")
        attempt.end()
        #expect(try await download.value.interruptions == 0)
        #expect(world.isComplete)
    }

    @Test func aSuspensionBeforeTheStart() async throws {
        let download = world.download()
        download.suspend()
        async let file = download.value
        await session.settle()
        #expect(transport.attempts.isEmpty && download.state == .suspended)
        download.resume()
        let attempt = try await transport.nextAttempt()
        world.sendFile(attempt)
        #expect(try await file.size == 10)
        #expect(world.isComplete)
    }

    @Test(arguments: [false, true])
    func cancelling(_ isHeld: Bool) async throws {
        let (download, attempt) = try await world.start()
        world.sendHead(attempt)
        try await world.receive(0..<5, attempt, download)
        if isHeld { download.suspend() }
        download.cancel()
        let error = await #expect(throws: TrellisError.self) { try await download.value }
        #expect(error?.kind == .cancelled && download.state == .cancelled)
        try await attempt.wait(for: .cancel)
        // The progress sequence has ended too.
        for await _ in download.progress {}
        let data = try #require(download.resumeData)
        #expect(data.receivedBytes == 5 && data.totalBytes == 10)
    }

    @Test func cancellingBeforeItBegan() async throws {
        let download = world.download()
        download.cancel()
        let error = await #expect(throws: TrellisError.self) { try await download.value }
        #expect(error?.kind == .cancelled)
        await #expect(throws: TrellisError.self) { try await download.response }
        #expect(await download.cancelProducingResumeData() == nil)
        #expect(transport.attempts.isEmpty && download.resumeData == nil)
    }

    @Test func theTasksCancellationIsThatOfTheDownload() async throws {
        let download = world.download()
        let task = Task { try await download.value }
        let attempt = try await transport.nextAttempt()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await attempt.wait(for: .cancel)
        #expect(world.file == nil)
    }

    @Test func withTheLastHandleItEnds() async throws {
        var download: DownloadRequest? = world.download()
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
        let (download, attempt) = try await world.start()
        world.sendHead(attempt)
        await session.settle()
        for digit in "01234567" {
            clock.move(by: .seconds(59))
            attempt.receiveBody(String(digit))
            await session.settle()
        }
        attempt.receiveBody("89")
        attempt.end()
        _ = try await download.value
        #expect(world.isComplete)
    }

    /// The total time limit of the request spans all attempts.
    @Test func aLimitInTotalHolds() async throws {
        // Far beyond the clock while it moves in steps to the second attempt.
        let (download, attempt) = try await world.start(
            timeouts: Timeouts(responseHead: nil, idle: .seconds(40_000), total: .seconds(60_000)))
        world.sendHead(attempt)
        try await world.receive(0..<5, attempt, download)
        clock.move(by: .seconds(40_000))
        try await attempt.wait(for: .cancel)
        let second = try await world.nextAttempt(after: 1)
        second.connect()
        // Before the connect limit is reached.
        await session.settle()
        clock.move(by: .seconds(20_000))
        let error = await #expect(throws: TrellisError.self) { try await download.value }
        #expect(error?.kind == .totalTimeout)
        #expect(download.resumeData?.receivedBytes == 5)
    }

    /// A failure before the first response is not retried by the download: that is left to the caller or to the session's
    /// retriers.
    @Test func aFirstFailureIsAnError() async throws {
        let (download, attempt) = try await world.start()
        attempt.fail(.connectionFailed(.unreachable("refused")))
        let error = await #expect(throws: TrellisError.self) { try await download.value }
        #expect(error?.kind == .connect && transport.attempts.count == 1)
    }

    // MARK: The deadline of suspended downloads

    @Test func aDownloadThatIsSuspendedBeforeItsFirstAttemptEndsAtItsDeadline() async throws {
        let download = world.download(timeouts: Timeouts(total: .seconds(60)))
        download.suspend()
        let reading = Task { try await download.value }
        try await world.advance(inSteps: .seconds(10)) { download.state.isFinished }
        let error = await #expect(throws: TrellisError.self) { try await reading.value }
        #expect(error?.kind == .totalTimeout && transport.attempts.isEmpty)
    }

    @Test func aDownloadThatIsSuspendedBetweenTwoAttemptsEndsAtItsDeadline() async throws {
        // Far beyond the clock while it moves in steps: a download that finds its deadline over before it waits for its next attempt
        // throws the error of the last one.
        let day = Duration.seconds(86_400)
        let (download, attempt) = try await world.start(timeouts: Timeouts(total: day))
        world.sendHead(attempt)
        try await world.receive(0..<5, attempt, download)
        attempt.fail(.exchangeFailed(.receive("reset")))
        try await world.wait { download.report.metrics.attemptCount == 1 }
        // The next attempt cannot begin before the clock moves.
        download.suspend()
        try await world.advance { download.report.interruptions == 1 }
        clock.move(by: day)
        let error = await #expect(throws: TrellisError.self) { try await download.value }
        #expect(error?.kind == .totalTimeout && error?.interruptions == 1 && transport.attempts.count == 1)
        #expect(download.resumeData?.receivedBytes == 5)
    }

    /// The failure of a connection does not end a download that is suspended after a write: the deadline does.
    @Test func aDownloadThatIsSuspendedAfterAWriteEndsAtItsDeadline() async throws {
        let download = world.download(timeouts: Timeouts(total: .seconds(60)))
        let suspend: FileOperationHook.Handler = { operation, moment in
            if case .write = operation, moment == .after { download.suspend() }
            return nil
        }
        FileOperationHook.$handler.withValue(suspend) { download.resume() }
        let attempt = try await transport.nextAttempt()
        world.sendHead(attempt)
        try await world.receive(0..<5, attempt, download)
        attempt.fail(.exchangeFailed(.receive("reset")))
        try await world.advance(inSteps: .seconds(10)) { download.state.isFinished }
        let error = await #expect(throws: TrellisError.self) { try await download.value }
        #expect(error?.kind == .totalTimeout && error?.interruptions == 0 && transport.attempts.count == 1)
        #expect(download.resumeData?.receivedBytes == 5)
    }

    private struct Signer: RequestSigner {
        func sign(_ request: inout WireRequest, context: CallContext) async throws { request.headers["Seal"] = "1" }
    }

    @Test func aDownloadIsSigned() async throws {
        let world = try ScriptedDownload { $0.steps.signers = [Signer()] }
        let (download, attempt) = try await world.start()
        #expect(attempt.request.request.headers["Seal"] == "1")
        world.sendFile(attempt)
        _ = try await download.value
    }
}
