import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisDownloads

/// Several tasks that wait for one download.
@Suite(.timeLimit(.minutes(3)))
struct DownloadReaderTests {
    private let world: ScriptedDownload
    private var session: Session { world.session }
    private var transport: ScriptedTransport { world.transport }

    init() throws { world = try ScriptedDownload() }

    private static let file = DownloadedFile(
        path: "f", size: 1, resumedBytes: 0, isExisting: false,
        response: Response(head: ResponseHead(status: .ok), url: "http://a.example/f"), interruptions: 0,
        metrics: Metrics())

    /// Reads the download in a task that is cancelled before it reads.
    private func leave(_ download: DownloadRequest) async {
        let gate = LoopbackServer.Gate()
        let leaving = Task {
            try? await gate.opened()
            return try await download.value
        }
        leaving.cancel()
        gate.open()
        await #expect(throws: CancellationError.self) { try await leaving.value }
    }

    // MARK: One download

    /// A reader that leaves does not end the download for the other readers, whether it waits for the file or the
    /// response.
    @Test(arguments: [true, false]) func aReaderThatLeavesLeavesItToTheOthers(_ wantsFile: Bool) async throws {
        let gate = LoopbackServer.Gate()
        let run = DownloadTask(clock: session.clock) { _ in
            try await gate.opened()
            return Self.file
        }
        let leaving = Task {
            if wantsFile { _ = try await run.value() } else { _ = try await run.response() }
        }
        let staying = Task { try await run.value() }
        while run.readerCount < 2, !Task.isCancelled { await Task.yield() }
        leaving.cancel()
        await #expect(throws: CancellationError.self) { try await leaving.value }
        #expect(run.currentState == .resumed)
        gate.open()
        #expect(try await staying.value.path == "f")
    }

    @Test func withTheLastOfThemItEnds() async throws {
        let download = world.download()
        let readers = [Task { _ = try await download.value }, Task { _ = try await download.response }]
        let attempt = try await transport.nextAttempt()
        for reader in readers { reader.cancel() }
        for reader in readers { await #expect(throws: CancellationError.self) { try await reader.value } }
        try await attempt.wait(for: .cancel)
        #expect(download.state == .cancelled)
        // A reader that arrives now throws the error of the download, not a `CancellationError` of its own task.
        let late = await #expect(throws: TrellisError.self) { try await download.value }
        #expect(late?.kind == .cancelled && late?.url == "http://a.example/f")
    }

    @Test func aCancelledReaderLeavesItToTheOthers() async throws {
        let download = world.download()
        let staying = Task { try await download.value }
        let attempt = try await transport.nextAttempt()
        await leave(download)
        world.sendFile(attempt)
        #expect(try await staying.value.size == 10)
    }

    // MARK: Batches

    /// A reader that leaves a download does not end the download: the batch waits for it too.
    @Test func aReaderThatLeavesADownloadLeavesItToItsBatch() async throws {
        let download = world.download()
        var iterator = session.downloads(of: [download]).makeAsyncIterator()
        async let outcome = iterator.next()
        let attempt = try await transport.nextAttempt()
        await leave(download)
        world.sendFile(attempt)
        #expect(try await outcome?.result.get().size == 10)
    }

    /// A batch that is released cancels the downloads that wait for their turn, since nothing else would start them; readers of
    /// their progress end.
    @Test func aBatchThatIsReleasedEndsDownloadsThatWaitForTheirTurn() async throws {
        let downloads = (0..<3).map {
            session.downloadRequest("http://a.example/\($0)", to: .file(world.folder.path("\($0)")))
        }
        let batch = session.downloads(of: downloads, maximumConcurrency: 1)
        let watching = Task { for await _ in downloads[2].progress {} }
        let reading = Task {
            for await outcome in batch { return outcome.index }
            return -1
        }
        world.sendFile(try await transport.nextAttempt())
        #expect(await reading.value == 0)
        await watching.value
        #expect(downloads[2].state == .cancelled)
    }

    /// A batch that is released does not cancel a download that another task has started.
    @Test func aBatchThatIsReleasedEndsNoDownloadThatOthersHaveStarted() async throws {
        let download = world.download()
        var iterator: DownloadBatch.AsyncIterator? = session.downloads(of: [download]).makeAsyncIterator()
        let reading = Task { try await download.value }
        let attempt = try await transport.nextAttempt()
        _ = iterator.take()
        world.sendFile(attempt)
        #expect(try await reading.value.size == 10)
    }

    // MARK: Suspension

    /// A chunk source that logs whether it is held, and runs a closure first.
    private final class Source: ChunkSource {
        private let meanwhile: @Sendable (Bool) -> Void
        private let calls = Locked<[Bool]>([])

        init(_ meanwhile: @escaping @Sendable (Bool) -> Void) { self.meanwhile = meanwhile }

        var log: [Bool] { calls.withLock { $0 } }

        func hold(_ isHeld: Bool) {
            meanwhile(isHeld)
            calls.withLock { $0.append(isHeld) }
        }

        func next() async throws -> Data? { nil }

        func finalResponse() async throws -> Response {
            Response(head: ResponseHead(status: .ok), url: "http://a.example/f")
        }

        func cancel(explicitly: Bool) {}
    }

    /// A call of `resume` while a suspension takes effect wins.
    @Test(arguments: [true, false]) func resumingDuringASuspension(_ isBefore: Bool) async throws {
        let run = DownloadTask(clock: session.clock) { _ in throw CancellationError() }
        let source = Source { isHeld in if isHeld { run.resume() } }
        if isBefore { run.suspend() }
        try await run.reading(source) { if !isBefore { run.suspend() } }
        #expect(run.currentState == .resumed)
        #expect(source.log == [false, true, false])
    }
}
