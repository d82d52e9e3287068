import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisDownloads

/// The file of a download: its links, its permissions, and its copies.
@Suite(.timeLimit(.minutes(3)))
struct DownloadFileTests {
    private let world: ScriptedDownload

    init() throws { world = try ScriptedDownload() }

    /// A link to a file that does not exist yet stays, and the file appears at its end.
    @Test(arguments: [true, false]) func aLinkToAMissingFileStaysALink(_ isRelative: Bool) async throws {
        let end = world.folder.path("end")
        try FileManager.default.createSymbolicLink(
            atPath: world.folder.path("middle"), withDestinationPath: isRelative ? "end" : end)
        try FileManager.default.createSymbolicLink(atPath: world.path, withDestinationPath: "middle")
        let (download, attempt) = try await world.start()
        world.sendFile(attempt)
        #expect(try await download.value.path == end)
        #expect(world.folder.names == ["end", "f", "middle"] && world.file == world.content)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: world.path) == "middle")
        let attributes = try FileManager.default.attributesOfItem(atPath: end)
        #expect(attributes[.type] as? FileAttributeType == .typeRegular)
    }

    /// Only the URL of a file, or one without a scheme, has a path on the disk.
    @Test func theURLOfAnotherSchemeIsNoDestination() async throws {
        let url = try #require(URL(string: "https://a.example\(world.path)"))
        let download = world.session.downloadRequest(ScriptedDownload.url, to: .file(url))
        let error = await #expect(throws: TrellisError.self) { try await download.value }
        #expect(error?.kind == .file && error?.description.contains("its path is empty") == true)
        #expect(world.transport.attempts.isEmpty && world.folder.names == [])
        #expect(URL(filePath: world.path).filePath == world.path)
    }

    /// Returns the checkpoint of a partial file whose first four bytes are there.
    private func checkpoint() throws -> Data {
        let path = world.partialPath
        let data = ResumeData(
            url: ScriptedDownload.url, path: path, done: [0..<4], totalBytes: 10, validator: .entityTag("\"a\""))
        return try JSONEncoder().encode(data)
    }

    /// The bytes of an earlier download may be wrong although their tag is the same: everything is requested again, once.
    @Test(arguments: [true, false])
    func aResumedFileWithAnotherDigestBeginsAnew(_ isRight: Bool) async throws {
        try world.folder.write(try checkpoint(), to: ".f.trellis-note")
        try world.folder.write(Data("wxyz".utf8), to: ".f.trellis-part")
        let digest = try #require(MessageDigest(.sha256))
        digest.update(isRight ? world.content : Data("other".utf8))
        let download = world.download(checksum: .sha256(try #require(digest.finish())))
        download.resume()
        let first = try await world.transport.nextAttempt()
        #expect(world.requestedRange(first) == 4..<10)
        try world.sendPart(first)
        let second = try await world.transport.nextAttempt()
        #expect(second.request.request.headers[.range] == nil)
        world.sendFile(second)
        if isRight {
            #expect(try await download.value.resumedBytes == 0 && world.isComplete)
        } else {
            let error = await #expect(throws: TrellisError.self) { try await download.value }
            #expect(error?.kind == .checksumMismatch && world.folder.names == [])
        }
        #expect(world.transport.attempts.count == 2)
    }

    /// As soon as the partial file has its final name, a checkpoint at the old place may be that of another download.
    @Test func theCheckpointIsRemovedBeforeTheFileIsMoved() async throws {
        let disk = RecordedDisk(world.content)
        try await disk.recording {
            let file = try DownloadFile.opened(at: world.path, [])
            try file.write(world.content, at: 0)
            try world.folder.write(try checkpoint(), to: ".f.trellis-note")
            try await file.finish(size: 10)
        }
        let log = disk.log
        #expect(try #require(log.firstIndex(of: "remove note")) < #require(log.firstIndex(of: "rename part f")))
        #expect(world.isComplete)
    }

    /// The checkpoint stays while the file cannot be moved, so that its bytes are found.
    @Test func aFileThatExistsLeavesTheCheckpoint() async throws {
        let file = try DownloadFile.opened(at: world.folder.path("g"), [])
        try file.write(world.content, at: 0)
        try world.folder.write(try checkpoint(), to: ".g.trellis-note")
        try world.folder.write(Data("old".utf8), to: "g")
        let error = await #expect(throws: TrellisError.self) { try await file.finish(size: 10) }
        #expect(error?.kind == .file && file.found(for: ScriptedDownload.url) != nil)
        file.discard()
    }

    /// In a folder that others can write to, the checkpoint of another one may claim anything.
    @Test(arguments: ["own", "symbolic link", "second name"])
    func onlyTheUsersOwnCheckpointCounts(_ kind: String) throws {
        let (note, elsewhere) = (world.checkpointPath, world.folder.path("note"))
        try world.folder.write(try checkpoint(), to: kind == "own" ? ".f.trellis-note" : "note")
        switch kind {
        case "symbolic link":
            try FileManager.default.createSymbolicLink(atPath: note, withDestinationPath: elsewhere)
        case "second name": try FileManager.default.linkItem(atPath: elsewhere, toPath: note)
        default: break
        }
        let file = try DownloadFile.opened(at: world.path, [])
        #expect((file.found(for: ScriptedDownload.url) != nil) == (kind == "own"))
        file.discard()
    }

    /// A partial file that others may read becomes a temporary file that only its owner may read.
    @Test func aResumedTemporaryFileIsPrivate() async throws {
        let (first, attempt) = try await world.start()
        world.sendHead(attempt)
        try await world.receive(0..<5, attempt, first)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: world.partialPath)
        let data = try #require(await first.cancelProducingResumeData())
        let second = world.session.downloadRequest(resuming: data)
        second.resume()
        try world.sendPart(try await world.transport.nextAttempt())
        let file = try await second.value
        defer { try? FileManager.default.removeItem(atPath: file.path) }
        #expect(file.resumedBytes == 5)
        let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    /// The copy of a partial file on another file system ends with the task of its download, and the original stays.
    @Test func aCancelledCopyLeavesTheOriginal() async throws {
        let content = ScriptedDownload.largeFile
        let disk = RecordedDisk(content)
        try world.folder.write(content, to: "original")
        let original = world.folder.path("original")
        let file = try DownloadFile.opened(at: world.path, [])
        let isReached = disk.hold("write part 1048576..<2097152")
        let copying = Task { try await disk.recording { try await file.copy(from: original) } }
        try await isReached.opened()
        copying.cancel()
        disk.goOn("write part 1048576..<2097152")
        await #expect(throws: CancellationError.self) { try await copying.value }
        #expect(world.folder.content("original") == content)
        #expect(file.length == 2 << 20)
        file.discard()
    }
}
