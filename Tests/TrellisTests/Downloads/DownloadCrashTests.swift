import CurlEngine
import Foundation
import HTTPTypes
import Testing
import TrellisTesting

@testable import Trellis

/// The files that a download leaves on a disk whose machine fails: a checkpoint never lists bytes that are not certain to be on
/// the disk.
@Suite(.timeLimit(.minutes(1)))
struct DownloadCrashTests {
    private static let total = 4 << 20
    private static let content = Data((0..<total).map { UInt8(truncatingIfNeeded: $0 % 251 + 1) })
    private let clock = TestClock()
    private let transport: ScriptedTransport
    private let session: Session
    private let folder: URL
    private let disk = RecordedDisk(content)

    init() throws {
        transport = ScriptedTransport(clock: clock)
        session = Session(transport: transport, clock: clock)
        folder = FileManager.default.temporaryDirectory.appending(path: "trellis-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private func path(_ name: String) -> String { folder.appending(path: name).path }

    private var part: String { path(".f.trellis-part") }
    private var noteText: String { path(".f.trellis-note") }

    private var note: [[Int]]? {
        struct Note: Decodable { let done: [[Int]] }
        return FileManager.default.contents(atPath: noteText).flatMap {
            try? JSONDecoder().decode(Note.self, from: $0)
        }?
        .done
    }

    /// Indicates whether the checkpoint has ranges that only the kernel holds.
    private var hasPending: Bool {
        FileManager.default.contents(atPath: noteText).map { String(decoding: $0, as: UTF8.self).contains("boot") }
            ?? false
    }

    private func removeFolder() { try? FileManager.default.removeItem(at: folder) }

    private func download(connections: Int = 1) -> DownloadRequest {
        var options = DownloadOptions()
        options.connections = connections
        return session.downloadRequest(
            "http://a.example/f", to: .file(path("f"), .removePreviousFile), options: options)
    }

    private func sendHead(_ attempt: ScriptedAttempt, _ tag: String = "\"a\"") {
        attempt.connect()
        attempt.receiveHead(
            headers: [.eTag: tag, .contentLength: "\(Self.total)", .acceptRanges: "bytes"])
    }

    private func sendPart(_ attempt: ScriptedAttempt, from start: Int) {
        attempt.connect()
        attempt.receiveHead(
            status: 206,
            headers: [.eTag: "\"a\"", .contentRange: "bytes \(start)-\(Self.total - 1)/\(Self.total)"])
    }

    private func receive(_ range: Range<Int>, _ attempt: ScriptedAttempt, _ download: DownloadRequest) async throws {
        let before = download.currentProgress.completedBytes
        attempt.receiveBody(Self.content[range])
        try await until { download.currentProgress.completedBytes >= before + Int64(range.count) }
    }

    /// Returns when the checkpoint lists exactly these ranges.
    private func noted(_ wanted: [[Int]]) async throws { try await until { note == wanted } }

    private func until(_ condition: () -> Bool) async throws {
        while !condition() {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// Starts a download over one connection, with a second's bytes and some more received.
    private func begin() async throws -> (DownloadRequest, ScriptedAttempt) {
        let download = download()
        download.resume()
        let attempt = try await transport.nextAttempt()
        sendHead(attempt)
        try await receive(0..<1000, attempt, download)
        clock.advance(by: .seconds(1))
        try await receive(1000..<2000, attempt, download)
        try await noted([[0, 2000]])
        try await receive(2000..<3000, attempt, download)
        return (download, attempt)
    }

    // MARK: Order

    @Test func overOneConnectionANoteListsWhatIsOnTheDisk() async throws {
        defer { removeFolder() }
        try await disk.recording {
            let (download, _) = try await begin()
            download.cancel()
            await #expect(throws: TrellisError.self) { try await download.value }
        }
        #expect(disk.lies == [] && note == [[0, 3000]])
        let log = disk.log.filter { !$0.hasPrefix("write") }
        // The order of operations at a checkpoint, and at the end.
        let saving = ["synchronize part", "synchronize note.new", "rename note.new note", "synchronize folder"]
        #expect(Array(log.suffix(8)) == saving + saving)
    }

    @Test func inPartsANoteListsWhatIsOnTheDisk() async throws {
        defer { removeFolder() }
        try await disk.recording {
            let download = download(connections: 2)
            download.resume()
            let first = try await transport.nextAttempt()
            sendHead(first)
            let second = try await transport.nextAttempt()
            sendPart(second, from: 2 << 20)
            try await receive(0..<1000, first, download)
            clock.advance(by: .seconds(1))
            try await receive(2 << 20..<(2 << 20) + 1000, second, download)
            try await noted([[0, 1000], [2 << 20, (2 << 20) + 1000]])
            try await receive(1000..<2000, first, download)
            download.cancel()
            await #expect(throws: TrellisError.self) { try await download.value }
        }
        #expect(disk.lies == [] && note == [[0, 2000], [2 << 20, (2 << 20) + 1000]])
    }

    /// After a failure of the machine only synchronized bytes count: the bytes that the kernel alone had are lost, although the
    /// length of the file includes them.
    @Test func afterAFailureOfTheMachineOnlyWhatWasSynchronizedIsTrusted() async throws {
        defer { removeFolder() }
        let (bytes, text) = try await disk.recording {
            let (download, _) = try await begin()
            let bytes = disk.remains(of: part), text = try #require(FileManager.default.contents(atPath: noteText))
            download.cancel()
            await #expect(throws: TrellisError.self) { try await download.value }
            return (bytes, text)
        }
        #expect(bytes.count == 3000 && bytes != Self.content.prefix(3000))
        var json = try #require(JSONSerialization.jsonObject(with: text) as? [String: Any])
        // Another boot identifier: the machine has restarted since.
        json["boot"] = "another"
        try bytes.write(to: URL(fileURLWithPath: part))
        try JSONSerialization.data(withJSONObject: json).write(to: URL(fileURLWithPath: noteText))
        let download = download()
        download.resume()
        let attempt = try await transport.nextAttempt()
        #expect(attempt.request.request.headers[.range] == "bytes=2000-")
        sendPart(attempt, from: 2000)
        try await receive(2000..<Self.total, attempt, download)
        attempt.end()
        #expect(try await download.value.resumedBytes == 2000)
        #expect(FileManager.default.contents(atPath: path("f")) == Self.content)
    }

    /// A checkpoint of a version that trusted file lengths is ignored without a modification stamp.
    @Test func anOldNoteIsNotTrusted() async throws {
        defer { removeFolder() }
        let json = #"""
            {"version":1,"url":"http://a.example/f","path":"p","entityTag":"\"a\"","done":[[0,4194304]],"total":4194304}
            """#
        try Data(count: 3000).write(to: URL(fileURLWithPath: part))
        try Data(json.utf8).write(to: URL(fileURLWithPath: noteText))
        let download = download()
        download.resume()
        let attempt = try await transport.nextAttempt()
        #expect(attempt.request.request.headers[.range] == nil)
    }

    /// After a killed process the written bytes count if they can be synchronized now; otherwise only the ranges of the
    /// checkpoint count.
    @Test(arguments: [true, false]) func afterAKilledProcessTheLengthTellsIfTheDiskTakesIt(_ takesIt: Bool) async throws
    {
        defer { removeFolder() }
        let (download, _) = try await begin()
        let bytes = try #require(FileManager.default.contents(atPath: part))
        let text = try #require(FileManager.default.contents(atPath: noteText))
        download.cancel()
        await #expect(throws: TrellisError.self) { try await download.value }
        try bytes.write(to: URL(fileURLWithPath: part))
        try text.write(to: URL(fileURLWithPath: noteText))
        if !takesIt { disk.fail("synchronize part") }
        try await disk.recording {
            let next = self.download()
            next.resume()
            let attempt = try await transport.nextAttempt()
            #expect(attempt.request.request.headers[.range] == (takesIt ? "bytes=3000-" : "bytes=2000-"))
            next.cancel()
        }
    }

    // MARK: Failures

    /// Bytes that cannot be synchronized do not enter the checkpoint; the previous checkpoint holds.
    @Test func aDiskThatFailsLeavesTheNoteFromBefore() async throws {
        defer { removeFolder() }
        try await disk.recording {
            let (download, attempt) = try await begin()
            disk.fail("synchronize part")
            // The download fails before the file looks complete, with the first bytes after the disk has reported the error: the
            // disk may still be busy with the last checkpoint.
            for position in 3000..<Self.total - 1 where attempt.count(of: .cancel) == 0 {
                clock.advance(by: .seconds(1))
                attempt.receiveBody(Self.content[position..<position + 1])
                try await until {
                    download.currentProgress.completedBytes > position || attempt.count(of: .cancel) > 0
                }
            }
            let error = await #expect(throws: TrellisError.self) { try await download.value }
            #expect(error?.kind == .file && download.resumeData == nil)
        }
        #expect(disk.lies == [] && note == [[0, 2000]] && !hasPending)
        // The kernel has dropped the bytes that could not be written.
        let next = download()
        next.resume()
        let attempt = try await transport.nextAttempt()
        #expect(attempt.request.request.headers[.range] == "bytes=2000-")
        next.cancel()
    }

    /// Bytes that the disk did not accept never become the destination file.
    @Test func aDiskThatFailsLeavesNoFile() async throws {
        defer { removeFolder() }
        try await disk.recording {
            let download = download()
            download.resume()
            let attempt = try await transport.nextAttempt()
            sendHead(attempt)
            try await receive(0..<1000, attempt, download)
            disk.fail("synchronize part")
            clock.advance(by: .seconds(1))
            try await receive(1000..<2000, attempt, download)
            try await until { note == nil }
            attempt.receiveBody(Self.content[2000...])
            attempt.end()
            let error = await #expect(throws: TrellisError.self) { try await download.value }
            #expect(error?.kind == .file && error?.description.contains("it fails") == true)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }

    /// The checkpoint of old bytes is durably removed before new bytes are written.
    @Test func aNoteGoesBeforeOtherBytesCome() async throws {
        defer { removeFolder() }
        try await disk.recording {
            let (first, _) = try await begin()
            first.cancel()
            await #expect(throws: TrellisError.self) { try await first.value }
            let seen = disk.log.count
            let second = download()
            second.resume()
            let attempt = try await transport.nextAttempt()
            sendHead(attempt, "\"b\"")
            attempt.receiveBody(Self.content.prefix(1000))
            try await until { disk.log.dropFirst(seen).contains("write part 0..<1000") }
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
    @Test func aSlowSynchronizationHoldsUpNothing() async throws {
        defer { removeFolder() }
        try await disk.recording {
            let download = download()
            download.resume()
            let attempt = try await transport.nextAttempt()
            sendHead(attempt)
            try await receive(0..<1000, attempt, download)
            let isReached = disk.hold("synchronize part")
            clock.advance(by: .seconds(1))
            try await receive(1000..<2000, attempt, download)
            try await isReached.opened()
            try await receive(2000..<Self.total, attempt, download)
            attempt.end()
            #expect(try await download.value.size == Int64(Self.total))
            #expect(FileManager.default.contents(atPath: path("f")) == Self.content)
            disk.goOn("synchronize part")
        }
        try await until { disk.log.contains("synchronize part") }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["f"])
        #expect(!disk.log.contains("rename note.new note") || note == nil)
    }

    /// Starts as many slow synchronizations as the pool has threads, and some more: other tasks still run.
    @Test func slowDisksHoldUpNoOtherTask() async throws {
        defer { removeFolder() }
        let count = 2 * ProcessInfo.processInfo.activeProcessorCount + 2
        let disks = (0..<count).map { _ in RecordedDisk(Self.content) }
        var downloads: [DownloadRequest] = []
        for (index, disk) in disks.enumerated() {
            let isReached = disk.hold("write part 0..<1000")
            let download = session.downloadRequest("http://a.example/f", to: .file(path("\(index)")))
            await disk.recording { download.resume() }
            let attempt = try await transport.nextAttempt()
            sendHead(attempt)
            attempt.receiveBody(Self.content.prefix(1000))
            try await isReached.opened()
            downloads.append(download)
        }
        // A task of the pool, and a request, still run.
        let answer = Task.detached { [session] in try await session.data("http://b.example/") }
        let attempt = try await transport.nextAttempt()
        attempt.connect()
        attempt.receiveHead()
        attempt.end()
        #expect(try await answer.value.1.status == .ok)
        for disk in disks { disk.goOn("write part 0..<1000") }
        for download in downloads {
            download.cancel()
            await #expect(throws: TrellisError.self) { try await download.value }
        }
    }
}
