import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisDownloads

/// The files that a download leaves on a disk whose machine fails: a checkpoint never lists bytes that are not certain to be on
/// the disk.
@Suite(.timeLimit(.minutes(3)))
struct DownloadCrashTests {
    private static let content = ScriptedDownload.largeFile
    private static let total = content.count
    private let world: ScriptedDownload
    private let disk = RecordedDisk(content)

    init() throws { world = try ScriptedDownload(Self.content) }

    /// Whether the checkpoint has ranges that only the kernel holds.
    private var hasPending: Bool {
        world.folder.content(".f.trellis-note").map { String(decoding: $0, as: UTF8.self).contains("boot") } ?? false
    }

    private func start(connections: Int = 1) async throws -> (DownloadRequest, ScriptedAttempt) {
        try await world.start(.removePreviousFile) { $0.connections = connections }
    }

    /// Starts a download over one connection, with a second's bytes and some more received.
    private func begin() async throws -> (DownloadRequest, ScriptedAttempt) {
        let (download, attempt) = try await start()
        world.sendHead(attempt)
        try await world.receive(0..<1000, attempt, download)
        world.clock.move(by: .seconds(1))
        try await world.receive(1000..<2000, attempt, download)
        try await world.waitForCheckpoint([[0, 2000]])
        try await world.receive(2000..<3000, attempt, download)
        return (download, attempt)
    }

    // MARK: Order

    @Test func overOneConnectionACheckpointListsBytesOnTheDisk() async throws {
        try await disk.recording {
            let (download, _) = try await begin()
            download.cancel()
            await #expect(throws: TrellisError.self) { try await download.value }
        }
        #expect(disk.lies == [] && world.checkpoint == [[0, 3000]])
        let log = disk.log.filter { !$0.hasPrefix("write") }
        // The order of operations at a checkpoint, and at the end.
        let saving = ["synchronize part", "synchronize note.new", "rename note.new note", "synchronize folder"]
        #expect(Array(log.suffix(8)) == saving + saving)
    }

    @Test func inPartsACheckpointListsBytesOnTheDisk() async throws {
        try await disk.recording {
            let (download, first) = try await start(connections: 2)
            world.sendHead(first)
            let second = try await world.transport.nextAttempt()
            try world.sendPartHead(second)
            try await world.receive(0..<1000, first, download)
            world.clock.move(by: .seconds(1))
            try await world.receive(2 << 20..<(2 << 20) + 1000, second, download)
            try await world.waitForCheckpoint([[0, 1000], [2 << 20, (2 << 20) + 1000]])
            try await world.receive(1000..<2000, first, download)
            download.cancel()
            await #expect(throws: TrellisError.self) { try await download.value }
        }
        #expect(disk.lies == [] && world.checkpoint == [[0, 2000], [2 << 20, (2 << 20) + 1000]])
    }

    /// After a failure of the machine only synchronized bytes count: the bytes that the kernel alone had are lost, although the
    /// length of the file includes them.
    @Test func afterAFailureOfTheMachineOnlySynchronizedBytesAreTrusted() async throws {
        let (bytes, text) = try await disk.recording {
            let (download, _) = try await begin()
            let bytes = disk.remains(of: world.partialPath)
            let text = try #require(world.folder.content(".f.trellis-note"))
            download.cancel()
            await #expect(throws: TrellisError.self) { try await download.value }
            return (bytes, text)
        }
        #expect(bytes.count == 3000 && bytes != Self.content.prefix(3000))
        var json = try #require(JSONSerialization.jsonObject(with: text) as? [String: Any])
        // Another boot identifier: the machine has restarted since.
        json["boot"] = "another"
        try bytes.write(to: URL(fileURLWithPath: world.partialPath))
        try JSONSerialization.data(withJSONObject: json).write(to: URL(fileURLWithPath: world.checkpointPath))
        let (download, attempt) = try await start()
        #expect(attempt.request.request.headers[.range] == "bytes=2000-")
        try world.sendPartHead(attempt)
        try await world.receive(2000..<Self.total, attempt, download)
        attempt.end()
        #expect(try await download.value.resumedBytes == 2000)
        #expect(world.file == Self.content)
    }

    /// A checkpoint of a version that trusted file lengths is ignored without a modification stamp.
    @Test func anOldCheckpointIsNotTrusted() async throws {
        let json = #"""
            {"version":1,"url":"http://a.example/f","path":"p","entityTag":"\"a\"","done":[[0,4194304]],"total":4194304}
            """#
        try Data(count: 3000).write(to: URL(fileURLWithPath: world.partialPath))
        try Data(json.utf8).write(to: URL(fileURLWithPath: world.checkpointPath))
        let (download, attempt) = try await start()
        #expect(attempt.request.request.headers[.range] == nil)
        download.cancel()
    }

    /// After a killed process the written bytes count if they can be synchronized now; otherwise only the ranges of the
    /// checkpoint count.
    @Test(arguments: [true, false])
    func afterAKilledProcessTheLengthCountsIfTheDiskTakesTheBytes(_ takesThem: Bool) async throws {
        let (download, _) = try await begin()
        let bytes = try #require(world.folder.content(".f.trellis-part"))
        let text = try #require(world.folder.content(".f.trellis-note"))
        download.cancel()
        await #expect(throws: TrellisError.self) { try await download.value }
        try bytes.write(to: URL(fileURLWithPath: world.partialPath))
        try text.write(to: URL(fileURLWithPath: world.checkpointPath))
        if !takesThem { disk.fail("synchronize part") }
        try await disk.recording {
            let (next, attempt) = try await start()
            #expect(attempt.request.request.headers[.range] == (takesThem ? "bytes=3000-" : "bytes=2000-"))
            next.cancel()
        }
    }

    // MARK: Failures

    /// Bytes that cannot be synchronized do not enter the checkpoint; the previous checkpoint holds.
    @Test func aDiskThatFailsLeavesTheEarlierCheckpoint() async throws {
        try await disk.recording {
            let (download, attempt) = try await begin()
            disk.fail("synchronize part")
            // The download fails before the file looks complete, with the first bytes after the disk has reported the error: the
            // disk may still be busy with the last checkpoint.
            var position = 3000
            while position < Self.total - 1, attempt.count(of: .cancel) == 0 {
                world.clock.move(by: .seconds(1))
                attempt.receiveBody(Self.content[position..<position + 1])
                position += 1
                try await world.wait {
                    download.currentProgress.completedBytes >= position || attempt.count(of: .cancel) > 0
                }
            }
            let error = await #expect(throws: TrellisError.self) { try await download.value }
            #expect(error?.kind == .file && download.resumeData == nil)
        }
        #expect(disk.lies == [] && world.checkpoint == [[0, 2000]] && !hasPending)
        // The kernel has dropped the bytes that could not be written.
        let (next, attempt) = try await start()
        #expect(attempt.request.request.headers[.range] == "bytes=2000-")
        next.cancel()
    }

    /// Bytes that the disk did not accept never become the destination file.
    @Test func aDiskThatFailsLeavesNoFile() async throws {
        try await disk.recording {
            let (download, attempt) = try await start()
            world.sendHead(attempt)
            try await world.receive(0..<1000, attempt, download)
            disk.fail("synchronize part")
            world.clock.move(by: .seconds(1))
            try await world.receive(1000..<2000, attempt, download)
            try await world.wait { world.checkpoint == nil }
            attempt.receiveBody(Self.content[2000...])
            attempt.end()
            let error = await #expect(throws: TrellisError.self) { try await download.value }
            #expect(error?.kind == .file && error?.description.contains("it fails") == true)
        }
        #expect(world.folder.names == [])
    }

    /// The disk refuses bytes during the synchronization of a checkpoint, and then reports no failure any more: a download that
    /// waits for the disk fails, and no file appears.
    @Test func bytesThatACheckpointCouldNotSynchronizeAreAnError() async throws {
        try await disk.recording {
            let (download, attempt) = try await world.start(.synchronize)
            world.sendHead(attempt)
            try await world.receive(0..<1000, attempt, download)
            let isReached = disk.hold("synchronize part")
            disk.failOnce("synchronize part")
            world.clock.move(by: .seconds(1))
            try await world.receive(1000..<2000, attempt, download)
            try await isReached.opened()
            try await world.receive(2000..<Self.total, attempt, download)
            attempt.end()
            await world.scripted.waitUntilLive(count: 0)
            disk.goOn("synchronize part")
            let error = await #expect(throws: TrellisError.self) { try await download.value }
            #expect(error?.kind == .file && error?.description.contains("it fails") == true)
        }
        #expect(world.folder.names == [])
    }

    /// The synchronization of a download that waits for the disk is the operation of a thread of its own, and can fail.
    @Test func aDiskThatFailsAtTheEndLeavesNoFile() async throws {
        try await disk.recording {
            let (download, attempt) = try await world.start(.synchronize)
            disk.fail("synchronize part")
            world.sendFile(attempt)
            let error = await #expect(throws: TrellisError.self) { try await download.value }
            #expect(error?.kind == .file && error?.description.contains("it fails") == true)
        }
        #expect(world.folder.names == [])
    }

    /// The checkpoint of old bytes is durably removed before new bytes are written.
    @Test func anOldCheckpointIsRemovedBeforeNewBytesAreWritten() async throws {
        try await disk.recording {
            let (first, _) = try await begin()
            first.cancel()
            await #expect(throws: TrellisError.self) { try await first.value }
            let seen = disk.log.count
            let (second, attempt) = try await start()
            world.sendHead(attempt, tag: "\"b\"")
            attempt.receiveBody(Self.content.prefix(1000))
            try await world.wait { disk.log.dropFirst(seen).contains("write part 0..<1000") }
            let log = disk.log.dropFirst(seen)
            let removed = try #require(log.firstIndex(of: "remove note"))
            let synchronized = try #require(log.dropFirst(removed - seen).firstIndex(of: "synchronize folder"))
            #expect(synchronized < (try #require(log.firstIndex(of: "write part 0..<1000"))))
            second.cancel()
            await #expect(throws: TrellisError.self) { try await second.value }
        }
    }

    // MARK: Slow disks

    /// A slow disk delays neither received bytes nor the end, and no checkpoint is written for a file that has its final name.
    @Test func aSlowSynchronizationDelaysNothing() async throws {
        try await disk.recording {
            let (download, attempt) = try await start()
            world.sendHead(attempt)
            try await world.receive(0..<1000, attempt, download)
            let isReached = disk.hold("synchronize part")
            world.clock.move(by: .seconds(1))
            try await world.receive(1000..<2000, attempt, download)
            try await isReached.opened()
            try await world.receive(2000..<Self.total, attempt, download)
            attempt.end()
            #expect(try await download.value.size == Int64(Self.total))
            #expect(world.file == Self.content)
            disk.goOn("synchronize part")
        }
        try await world.wait { disk.log.contains("synchronize part") }
        #expect(world.folder.names == ["f"])
        #expect(!disk.log.contains("rename note.new note") || world.checkpoint == nil)
    }

    /// Checkpoints that are due while the disk is busy are not lost: the newest one is written next, also of a download that has
    /// stalled since.
    @Test(arguments: [1, 2]) func aCheckpointWaitsForABusyDisk(_ connections: Int) async throws {
        try await disk.recording {
            let (download, attempt) = try await start(connections: connections)
            world.sendHead(attempt)
            if connections > 1 { _ = try await world.transport.nextAttempt() }
            let isReached = disk.hold("synchronize part")
            world.clock.move(by: .seconds(1))
            try await world.receive(0..<1000, attempt, download)
            try await isReached.opened()
            for start in [1000, 2000] {
                world.clock.move(by: .seconds(1))
                try await world.receive(start..<start + 1000, attempt, download)
            }
            disk.goOn("synchronize part")
            try await world.waitForCheckpoint([[0, 3000]])
            download.cancel()
            await #expect(throws: TrellisError.self) { try await download.value }
        }
        #expect(disk.lies == [])
        // The two checkpoints before the end, and the one at the end: that of the first 2000 bytes was never written.
        #expect(disk.log.filter { $0 == "synchronize part" }.count == 3)
    }

    /// Starts as many slow synchronizations as the pool has threads, and some more: other tasks still run.
    @Test func slowDisksDelayNoOtherTask() async throws {
        let count = 2 * ProcessInfo.processInfo.activeProcessorCount + 2
        let disks = (0..<count).map { _ in RecordedDisk(Self.content) }
        var downloads: [DownloadRequest] = []
        for (index, disk) in disks.enumerated() {
            let isReached = disk.hold("write part 0..<1000")
            let download = world.session.downloadRequest(ScriptedDownload.url, to: .file(world.folder.path("\(index)")))
            await disk.recording { download.resume() }
            let attempt = try await world.transport.nextAttempt()
            world.sendHead(attempt)
            attempt.receiveBody(Self.content.prefix(1000))
            try await isReached.opened()
            downloads.append(download)
        }
        // A task of the pool, and a request, still run.
        let answer = Task.detached { [session = world.session] in try await session.data("http://b.example/") }
        let attempt = try await world.transport.nextAttempt()
        attempt.respond()
        #expect(try await answer.value.1.status == .ok)
        for disk in disks { disk.goOn("write part 0..<1000") }
        for download in downloads {
            download.cancel()
            await #expect(throws: TrellisError.self) { try await download.value }
        }
    }
}
