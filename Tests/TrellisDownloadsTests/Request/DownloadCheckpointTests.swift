import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisDownloads

/// The checkpoint of a partial file: its content and its timing, for a process that may be killed at any time.
@Suite(.timeLimit(.minutes(3)))
struct DownloadCheckpointTests {
    private let world: ScriptedDownload
    private var session: Session { world.session }

    init() throws { world = try ScriptedDownload(ScriptedDownload.largeFile) }

    /// Starts two connections: the first one has the beginning of the file, and the second one half of it.
    private func begin() async throws -> (DownloadRequest, ScriptedAttempt, ScriptedAttempt) {
        let (download, first) = try await world.start { $0.connections = 2 }
        world.sendHead(first)
        let second = try await world.transport.nextAttempt()
        try world.sendPartHead(second)
        return (download, first, second)
    }

    /// A slow download writes a checkpoint by time, however few bytes have arrived: bytes that arrived over a second ago need not
    /// be sent again.
    @Test func aSlowDownloadHasCheckpointsByTime() async throws {
        let half = 2 << 20
        let (download, first, second) = try await begin()
        try await world.receive(0..<1000, first, download)
        #expect(world.checkpoint == [])
        world.clock.move(by: .milliseconds(999))
        try await world.receive(half..<half + 1000, second, download)
        #expect(world.checkpoint == [])
        world.clock.move(by: .milliseconds(1))
        try await world.receive(1000..<1010, first, download)
        try await world.waitForCheckpoint([[0, 1010], [half, half + 1000]])
        try await world.receive(1010..<1020, first, download)
        #expect(world.checkpoint == [[0, 1010], [half, half + 1000]])
        world.clock.move(by: .seconds(1))
        try await world.receive(half + 1000..<half + 1010, second, download)
        try await world.waitForCheckpoint([[0, 1020], [half, half + 1010]])
        download.cancel()
        await #expect(throws: TrellisError.self) { try await download.value }
    }

    /// The interval of the checkpoints continues over the responses: a connection that is cut before a second is over leaves
    /// checkpoints too.
    @Test func connectionsThatAreCutEarlyHaveCheckpoints() async throws {
        let (download, first) = try await world.start()
        world.sendHead(first)
        world.clock.move(by: .milliseconds(600))
        try await world.receive(0..<20_000, first, download)
        first.fail(.exchangeFailed(.receive("cut")))
        let second = try await world.transport.nextAttempt()
        try world.sendPartHead(second)
        world.clock.move(by: .milliseconds(600))
        try await world.receive(20_000..<20_010, second, download)
        try await world.waitForCheckpoint([[0, 20_010]])
        download.cancel()
        await #expect(throws: TrellisError.self) { try await download.value }
    }

    /// A download whose folder is deleted fails soon, not only after the last byte.
    @Test(arguments: [true, false]) func aDeletedFolderEndsItSoon(_ hasParts: Bool) async throws {
        let (download, attempt): (DownloadRequest, ScriptedAttempt)
        if hasParts {
            (download, attempt, _) = try await begin()
        } else {
            (download, attempt) = try await world.start()
            world.sendHead(attempt)
        }
        try await world.receive(0..<1000, attempt, download)
        try FileManager.default.removeItem(at: world.folder.url)
        world.clock.move(by: .seconds(1))
        attempt.receiveBody(Data(count: 1000))
        let error = await #expect(throws: TrellisError.self) { try await download.value }
        #expect(error?.kind == .file && error?.description.contains("its folder is not there any more") == true)
        try await attempt.wait(for: .cancel)
    }

    // MARK: Suspended downloads

    /// A suspended worker ends when its task is cancelled.
    @Test(arguments: [true, false]) func aSuspendedWorkerCanBeCancelled(_ isBefore: Bool) async throws {
        let run = DownloadTask(clock: session.clock) { _ in throw CancellationError() }
        run.suspend()
        let gate = LoopbackServer.Gate()
        let deadline = CallDeadline(start: session.clock.now(), limit: nil, clock: session.clock)
        let task = Task { [session = world.session] in
            if isBefore { try? await gate.opened() }
            try await run.waitWhileSuspended(until: deadline, on: session.engine)
        }
        if !isBefore { await session.settle() }
        task.cancel()
        gate.open()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(run.currentState == .suspended)
    }

    /// Every connection of a download ends with the download, suspended or not.
    @Test(arguments: [true, false]) func allConnectionsEndWithIt(_ isHeld: Bool) async throws {
        let (download, first, second) = try await begin()
        try await world.receive(0..<1000, first, download)
        if isHeld { download.suspend() }
        download.cancel()
        await #expect(throws: TrellisError.self) { try await download.value }
        try await first.wait(for: .cancel)
        try await second.wait(for: .cancel)
        await session.settle()
        #expect(await session.actor.requestCount == 0)
    }
}
