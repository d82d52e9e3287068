import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisDownloads

/// A partial file with gaps: a checkpoint that describes a file without gaps is removed before the first gap appears.
@Suite(.timeLimit(.minutes(3)))
struct DownloadGapTests {
    private let world: ScriptedDownload
    private let disk = RecordedDisk(ScriptedDownload.largeFile)

    init() throws { world = try ScriptedDownload(ScriptedDownload.largeFile) }

    /// Creates the files of a process that is killed after 3000 bytes in order: a checkpoint that relies on the kernel for these
    /// bytes.
    private func leaveInOrder() async throws {
        let (download, attempt) = try await world.start()
        world.sendHead(attempt)
        try await world.receive(0..<3000, attempt, download)
        let bytes = try #require(world.folder.content(".f.trellis-part"))
        let text = try #require(world.folder.content(".f.trellis-note"))
        download.cancel()
        await #expect(throws: TrellisError.self) { try await download.value }
        try world.folder.write(bytes, to: ".f.trellis-part")
        try world.folder.write(text, to: ".f.trellis-note")
    }

    /// A checkpoint without gaps is removed where ranges cannot be recorded: otherwise the bytes of a gap would count as bytes of
    /// the file.
    @Test func aCheckpointWithoutGapsIsRemovedIfPartsCannotBeRecorded() async throws {
        try await leaveInOrder()
        disk.fail("rename note.new note")
        try await disk.recording {
            let (download, first) = try await world.start { $0.connections = 2 }
            let attempts = [first, try await world.transport.nextAttempt()]
            let starts = try attempts.map { try world.sendPartHead($0).lowerBound }
            let last = starts[0] > starts[1] ? 0 : 1
            #expect(starts[1 - last] == 3000 && starts[last] > 2 << 20)
            try await world.receive(starts[last]..<starts[last] + 1000, attempts[last], download)
            // The process would leave this state if it were killed now.
            #expect(world.checkpoint == nil)
            download.cancel()
            await #expect(throws: TrellisError.self) { try await download.value }
        }
        let (next, attempt) = try await world.start()
        #expect(attempt.request.request.headers[.range] == nil)
        next.cancel()
        await #expect(throws: TrellisError.self) { try await next.value }
    }

    /// A download does not write ranges to a file whose old checkpoint cannot be removed.
    @Test func withACheckpointThatCannotBeRemovedThereAreNoParts() async throws {
        try await leaveInOrder()
        for entry in ["rename note.new note", "remove note"] { disk.fail(entry) }
        await disk.recording {
            let download = world.download { $0.connections = 2 }
            let error = await #expect(throws: TrellisError.self) { try await download.value }
            #expect(error?.kind == .file && error?.description.contains("its checkpoint cannot be removed") == true)
        }
        #expect(world.transport.attempts.count == 1)
        // The bytes from before are still there.
        let (next, attempt) = try await world.start()
        #expect(attempt.request.request.headers[.range] == "bytes=3000-")
        next.cancel()
        await #expect(throws: TrellisError.self) { try await next.value }
    }

    /// A checkpoint holds as long as all bytes that it lists are there.
    @Test(arguments: [([0..<2000], true), ([0..<2500], true), ([0..<500, 1000..<2000], false), ([], false)])
    func earlierCheckpoints(_ done: [Range<Int64>], _ holds: Bool) throws {
        let file = try DownloadFile.opened(at: world.path, [])
        try file.write(world.content.prefix(2000), at: 0)
        let data = ResumeData(
            url: ScriptedDownload.url, path: file.path, done: done, totalBytes: Int64(world.content.count),
            validator: .entityTag("\"a\""))
        #expect(!file.hasCheckpoint(like: data))
        // The checkpoint relies on the kernel for the complete length of the file.
        let pending = ResumeData.Pending(boot: "boot", written: [0..<Int64(world.content.count)])
        #expect(file.writeCheckpoint(data.with(done: [], pending: pending), isDurable: false))
        #expect(file.hasCheckpoint(like: data) == holds)
        file.discard()
    }
}
