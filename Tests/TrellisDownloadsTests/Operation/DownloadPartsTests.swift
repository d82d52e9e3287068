import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisDownloads

/// The failures of the connections of a download in parts.
@Suite(.timeLimit(.minutes(3)))
struct DownloadPartsTests {
    /// Leaves a partial file with the first 3000 bytes.
    private func leavePartialFile(_ world: ScriptedDownload) async throws {
        let (download, attempt) = try await world.start()
        world.sendHead(attempt)
        try await world.receive(0..<3000, attempt, download)
        download.cancel()
        await #expect(throws: TrellisError.self) { try await download.value }
    }

    /// A connection that is lost before any part was accepted proves nothing about parts: the bytes of the first response are
    /// good.
    @Test func aConnectionLostBeforeTheFirstPartKeepsItsBytes() async throws {
        let world = try ScriptedDownload(ScriptedDownload.largeFile) { $0.limits.perOrigin = 1 }
        let (download, attempt) = try await world.start {
            $0.connections = 2
            $0.maximumFailures = 0
        }
        world.sendHead(attempt)
        try await world.receive(0..<3 << 20, attempt, download)
        attempt.fail(.exchangeFailed(.receive("reset")))
        let error = await #expect(throws: TrellisError.self) { try await download.value }
        #expect(error?.kind == .receive && world.transport.attempts.count == 1)
        #expect(download.resumeData?.receivedBytes == 3 << 20)
    }

    /// A server that refuses every part serves the complete file over one connection.
    @Test func aServerThatRefusesEveryPartIsReadOverOneConnection() async throws {
        let world = try ScriptedDownload(ScriptedDownload.largeFile) { $0.limits.perOrigin = 1 }
        let (download, attempt) = try await world.start {
            $0.connections = 2
            $0.maximumFailures = 1
        }
        world.sendHead(attempt)
        try await world.receive(0..<1000, attempt, download)
        attempt.fail(.exchangeFailed(.receive("reset")))
        let part = try await world.nextAttempt(after: 1)
        #expect(world.requestedRange(part)?.lowerBound == 1000)
        world.sendStatus(403, part)
        let complete = try await world.nextAttempt(after: 2)
        #expect(world.requestedRange(complete) == nil)
        world.sendFile(complete)
        _ = try await download.value
        #expect(world.isComplete)
    }

    /// A connection that is refused while a download resumes leaves its part to the others.
    @Test(arguments: [true, false])
    func aConnectionRefusedWhileResumingLeavesItsPartToTheOthers(_ hasStatus: Bool) async throws {
        let world = try ScriptedDownload(ScriptedDownload.largeFile)
        try await leavePartialFile(world)
        let (download, refused) = try await world.start { $0.connections = 2 }
        let accepted = try await world.transport.nextAttempt()
        if hasStatus {
            world.sendStatus(503, refused)
        } else {
            refused.fail(.connectionFailed(.unreachable("refused")))
        }
        await world.scripted.waitUntilLive(count: 1)
        try world.sendPart(accepted)
        try await world.serve(download, after: 3)
        #expect(try await download.value.resumedBytes == 3000)
        #expect(world.isComplete)
    }

    /// The bytes of an earlier download stay if every connection is refused before any was accepted.
    @Test func aServerThatIsBusyWhileResumingKeepsTheBytes() async throws {
        let world = try ScriptedDownload(ScriptedDownload.largeFile)
        try await leavePartialFile(world)
        let (download, first) = try await world.start { $0.connections = 2 }
        let second = try await world.transport.nextAttempt()
        for attempt in [first, second] { world.sendStatus(503, attempt) }
        let error = await #expect(throws: TrellisError.self) { try await download.value }
        #expect(error?.kind == .unacceptableStatus && download.resumeData?.receivedBytes == 3000)
    }

    /// A resumed download that falls back to one connection continues after an interruption.
    @Test func aDownloadThatFallsBackToOneConnectionContinues() async throws {
        let world = try ScriptedDownload(ScriptedDownload.largeFile)
        try await leavePartialFile(world)
        let (download, first) = try await world.start { $0.connections = 2 }
        let second = try await world.transport.nextAttempt()
        let range = try world.sendPartHead(first)
        try await world.receive(range.lowerBound..<range.lowerBound + 1000, first, download)
        try world.sendPartHead(second, tag: "\"b\"")
        // It begins at once. A clock that moves until then might reach the idle limit of the first one.
        let lost = try await world.transport.nextAttempt()
        #expect(world.requestedRange(lost) == nil)
        lost.fail(.connectionFailed(.unreachable("refused")))
        let complete = try await world.nextAttempt(after: 4)
        world.sendFile(complete)
        _ = try await download.value
        #expect(world.isComplete)
    }
}
