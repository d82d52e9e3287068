import Foundation
import HTTPTypes
import Testing
import TrellisTesting

@testable import Trellis

/// The checkpoint of a partial file: its content and its timing, for a process that may be killed at any time.
@Suite(.timeLimit(.minutes(1)))
struct DownloadCheckpointTests {
    private let clock = TestClock()
    private let transport: ScriptedTransport
    private let session: Session
    private let folder: URL

    init() throws {
        transport = ScriptedTransport(clock: clock)
        session = Session(transport: transport, clock: clock)
        folder = FileManager.default.temporaryDirectory.appending(path: "trellis-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private var note: [[Int]]? {
        struct Note: Decodable { let done: [[Int]] }
        let data = FileManager.default.contents(atPath: folder.appending(path: ".f.trellis-note").path)
        return data.flatMap { try? JSONDecoder().decode(Note.self, from: $0) }?.done
    }

    /// Starts two connections: the first one has the beginning of the file, and the second one half of it.
    private func begin() async throws -> (DownloadRequest, ScriptedAttempt, ScriptedAttempt) {
        var options = DownloadOptions()
        options.connections = 2
        let download = session.downloadRequest(
            "http://a.example/f", to: .file(folder.appending(path: "f").path), options: options)
        download.resume()
        let first = try await transport.nextAttempt()
        first.connect()
        first.receiveHead(
            headers: [.eTag: "\"a\"", .contentLength: "\(4 << 20)", .acceptRanges: "bytes"])
        let second = try await transport.nextAttempt()
        second.connect()
        second.receiveHead(
            status: 206,
            headers: [.eTag: "\"a\"", .contentRange: "bytes \(2 << 20)-\((4 << 20) - 1)/\(4 << 20)"])
        return (download, first, second)
    }

    private func receive(_ count: Int, _ attempt: ScriptedAttempt, _ download: DownloadRequest) async {
        let before = download.currentProgress.completedBytes
        attempt.receiveBody(Data(count: count))
        while download.currentProgress.completedBytes < before + Int64(count) { await session.settle() }
    }

    /// Returns when the checkpoint lists exactly these ranges, which is a little later: the disk comes first.
    private func noted(_ wanted: [[Int]]) async throws {
        while note != wanted {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// A slow download writes a checkpoint by time, however few bytes have arrived: bytes that arrived over a second ago need not
    /// be sent again.
    @Test func aSlowDownloadIsNotedByTime() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let (download, first, second) = try await begin()
        await receive(1000, first, download)
        #expect(note == [])
        clock.advance(by: .milliseconds(999))
        await receive(1000, second, download)
        #expect(note == [])
        clock.advance(by: .milliseconds(1))
        await receive(10, first, download)
        try await noted([[0, 1010], [2 << 20, (2 << 20) + 1000]])
        await receive(10, first, download)
        #expect(note == [[0, 1010], [2 << 20, (2 << 20) + 1000]])
        clock.advance(by: .seconds(1))
        await receive(10, second, download)
        try await noted([[0, 1020], [2 << 20, (2 << 20) + 1010]])
        download.cancel()
        await #expect(throws: TrellisError.self) { try await download.value }
    }

    /// A download whose folder is deleted fails soon, not only after the last byte.
    @Test(arguments: [true, false]) func aFolderThatGoesEndsItSoon(_ hasParts: Bool) async throws {
        let (download, attempt): (DownloadRequest, ScriptedAttempt)
        if hasParts {
            (download, attempt, _) = try await begin()
        } else {
            download = session.downloadRequest("http://a.example/f", to: .file(folder.appending(path: "f").path))
            download.resume()
            attempt = try await transport.nextAttempt()
            attempt.connect()
            attempt.receiveHead(headers: [.eTag: "\"a\"", .contentLength: "1000000"])
        }
        await receive(1000, attempt, download)
        try FileManager.default.removeItem(at: folder)
        clock.advance(by: .seconds(1))
        attempt.receiveBody(Data(count: 1000))
        let error = await #expect(throws: TrellisError.self) { try await download.value }
        #expect(error?.kind == .file && error?.description.contains("its folder is not there any more") == true)
        try await attempt.wait(for: .cancel)
    }

    // MARK: Suspended downloads

    /// A suspended worker ends when its task is cancelled.
    @Test(arguments: [true, false]) func aHeldUpWorkerCanBeCancelled(_ isBefore: Bool) async throws {
        let run = DownloadTask(clock: session.clock) { _ in throw CancellationError() }
        run.suspend()
        let gate = LoopbackServer.Gate()
        let task = Task {
            if isBefore { try? await gate.opened() }
            try await run.pass()
        }
        if !isBefore { await session.settle() }
        task.cancel()
        gate.open()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(run.currentState == .suspended)
    }

    /// Every connection of a download ends with the download, suspended or not.
    @Test(arguments: [true, false]) func allConnectionsEndWithIt(_ isHeld: Bool) async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let (download, first, second) = try await begin()
        await receive(1000, first, download)
        if isHeld { download.suspend() }
        download.cancel()
        await #expect(throws: TrellisError.self) { try await download.value }
        try await first.wait(for: .cancel)
        try await second.wait(for: .cancel)
        await session.settle()
        #expect(await session.actor.requestCount == 0)
    }
}
