import Foundation
import HTTPTypes
import Testing
import TrellisTesting

@testable import Trellis

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
