import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// Downloads whose files other processes write to, move or delete end with the correct file, or with a clear error and no file.
@Suite(.timeLimit(.minutes(3)))
struct TouchedDownloadTests {
    private static let content = noise(2_000_000)
    private static let part = ".a.bin.trellis-part"
    private static let note = ".a.bin.trellis-note"
    private let folder: Folder
    private let session = Session()
    private var onlyOnce = DownloadOptions()
    /// The servers, which run as long as the test.
    private let servers = Locked<[FileServer]>([])

    init() throws {
        folder = try Folder()
        onlyOnce.maximumFailures = 0
    }

    private func download(_ server: FileServer, _ options: DownloadOptions = DownloadOptions()) -> DownloadRequest {
        session.downloadRequest(server.url, to: .file(folder("a.bin")), options: options)
    }

    /// Runs `body` on the files of a download that has received `count` bytes, and then cuts the connection.
    private func touching(
        at count: Int = 700_000, _ body: (DownloadRequest) async throws -> Void
    ) async throws -> (FileServer, DownloadRequest) {
        let gate = LoopbackServer.Gate()
        let server = try FileServer(Self.content) { number, _ in number == 1 ? .stalled(count, gate) : .whole }
        servers.withLock { $0.append(server) }
        let request = download(server)
        for await progress in request.progress where progress.completedBytes == count { break }
        try await body(request)
        gate.open()
        return (server, request)
    }

    private func open(_ name: String) throws -> FileHandle {
        try #require(FileHandle(forUpdatingAtPath: folder(name)))
    }

    // MARK: Changes during a download

    /// A partial file that another process truncates ends the download, because the bytes after the cut would follow zeros.
    @Test(arguments: [0, 699_999]) func aPartialFileThatIsCut(_ length: UInt64) async throws {
        let (_, request) = try await touching { _ in try open(Self.part).truncate(atOffset: length) }
        let error = await fails(.file) { try await request.value }
        #expect(error?.description.contains("another program has written to its partial file") == true)
        #expect(request.resumeData == nil && folder.names == [])
    }

    /// Bytes that another process appends to the partial file are overwritten.
    @Test func aPartialFileThatGrows() async throws {
        let (_, request) = try await touching { _ in try open(Self.part).truncate(atOffset: 5_000_000) }
        #expect(try await request.value.size == 2_000_000)
        #expect(folder.data("a.bin") == Self.content)
    }

    @Test func aPartialFileThatIsDeleted() async throws {
        let (_, request) = try await touching { _ in try FileManager.default.removeItem(atPath: folder(Self.part)) }
        let error = await fails(.file) { try await request.value }
        #expect(error?.description.contains("its partial file is not there any more") == true)
        #expect(request.resumeData == nil && folder.data("a.bin") == nil)
    }

    /// A partial file that is replaced by another file ends the download, and the other file stays.
    @Test func aPartialFileThatIsReplaced() async throws {
        let (_, request) = try await touching { _ in
            try FileManager.default.removeItem(atPath: folder(Self.part))
            folder.write(noise(2_000_000, seed: 9), to: Self.part)
        }
        await fails(.file) { try await request.value }
        #expect(folder.data("a.bin") == nil && folder.data(Self.part) == noise(2_000_000, seed: 9))
    }

    @Test func aFolderThatIsDeleted() async throws {
        let (_, request) = try await touching { _ in try FileManager.default.removeItem(atPath: folder.path) }
        let error = await fails(.file) { try await request.value }
        #expect(error?.description.contains("its folder is not there any more") == true)
        #expect(request.resumeData == nil && !FileManager.default.fileExists(atPath: folder.path))
    }

    /// A cancelled download whose file was removed reports no resume data.
    @Test(arguments: [part, ""]) func aCancelledDownloadWhoseFileHasGone(_ name: String) async throws {
        let (_, request) = try await touching { request in
            try FileManager.default.removeItem(atPath: folder(name))
            #expect(await request.cancelProducingResumeData() == nil)
        }
        await fails(.cancelled) { try await request.value }
        #expect(request.resumeData == nil)
    }

    @Test func aCancelledDownloadWhoseFileWasCut() async throws {
        let (server, request) = try await touching { request in
            try open(Self.part).truncate(atOffset: 10)
            #expect(await request.cancelProducingResumeData() == nil)
        }
        await fails(.cancelled) { try await request.value }
        #expect(try await download(server).value.resumedBytes == 0)
        #expect(folder.data("a.bin") == Self.content && folder.names == ["a.bin"])
    }

    // MARK: Changes between two downloads

    /// Returns the server and the resume data of a download that has failed after 700,000 bytes.
    private func interrupted() async throws -> (FileServer, ResumeData) {
        let server = try FileServer(Self.content) { number, _ in number == 1 ? .cut(700_000) : .whole }
        let request = download(server, onlyOnce)
        await fails(.truncatedBody) { try await request.value }
        return (server, try #require(request.resumeData))
    }

    /// A change that another process makes to the partial file.
    enum Touch: CaseIterable { case change, cut, grow, cutAndGrow }

    private func touch(_ kind: Touch) throws {
        let file = try open(Self.part)
        switch kind {
        case .change: try file.write(contentsOf: Data("other".utf8))
        case .cut: try file.truncate(atOffset: 100_000)
        case .grow: try file.truncate(atOffset: 1_000_000)
        case .cutAndGrow:
            try file.truncate(atOffset: 100_000)
            try file.truncate(atOffset: 700_000)
        }
        try file.close()
    }

    @Test(arguments: Touch.allCases) func aPartialFileThatWasTouched(_ kind: Touch) async throws {
        let (server, _) = try await interrupted()
        try touch(kind)
        #expect(try await download(server).value.resumedBytes == 0)
        #expect(folder.data("a.bin") == Self.content && folder.names == ["a.bin"])
        #expect(server.ranges == [nil, nil])
    }

    @Test(arguments: Touch.allCases) func resumeDataOfAPartialFileThatWasTouched(_ kind: Touch) async throws {
        let (server, data) = try await interrupted()
        try touch(kind)
        #expect(try await session.downloadRequest(resuming: data, to: .file(folder("b.bin"))).value.resumedBytes == 0)
        #expect(folder.data("b.bin") == Self.content && server.ranges == [nil, nil])
    }

    /// Resume data is ignored if another download has overwritten the partial file that the data describes.
    @Test func resumeDataOfAPartialFileThatIsOfAnotherDownloadByNow() async throws {
        let (server, data) = try await interrupted()
        let other = try FileServer(noise(2_000_000, seed: 5), tag: "\"other\"") { _, _ in .cut(900_000) }
        await fails(.truncatedBody) { try await download(other, onlyOnce).value }
        let file = try await session.downloadRequest(resuming: data, to: .file(folder("a.bin"))).value
        #expect(file.resumedBytes == 0 && folder.data("a.bin") == Self.content)
        #expect(server.ranges == [nil, nil])
    }

    /// Resume data is ignored if its partial file was removed, and the partial file of another file is at the place.
    @Test func resumeDataWithoutItsFileNextToAnother() async throws {
        let (server, data) = try await interrupted()
        let other = try FileServer(noise(2_000_000, seed: 5), tag: "\"other\"") { _, _ in .cut(900_000) }
        await fails(.truncatedBody) {
            try await session.downloadRequest(other.url, to: .file(folder("b.bin")), options: onlyOnce).value
        }
        try FileManager.default.removeItem(atPath: folder(Self.part))
        let file = try await session.downloadRequest(resuming: data, to: .file(folder("b.bin"))).value
        #expect(file.resumedBytes == 0 && folder.data("b.bin") == Self.content && server.ranges == [nil, nil])
    }

    /// Forged resume data does not move another file.
    @Test func resumeDataThatNamesAnotherFile() async throws {
        let (server, data) = try await interrupted()
        folder.write(noise(1000), to: "precious")
        let json = String(decoding: try JSONEncoder().encode(data), as: UTF8.self)
            .replacingOccurrences(of: Self.part, with: "precious")
        let forged = try JSONDecoder().decode(ResumeData.self, from: Data(json.utf8))
        #expect(forged.path == folder("precious"))
        #expect(try await session.downloadRequest(resuming: forged, to: .file(folder("b.bin"))).value.resumedBytes == 0)
        #expect(folder.data("precious") == noise(1000) && server.ranges.count == 2)
    }

    @Test func aNoteThatWasHalfWritten() async throws {
        let (server, _) = try await interrupted()
        let note = try #require(folder.data(Self.note))
        folder.write(note.prefix(note.count / 2), to: Self.note)
        folder.write(note, to: Self.note + ".new")
        #expect(try await download(server).value.resumedBytes == 0)
        #expect(folder.data("a.bin") == Self.content && folder.names == ["a.bin"])
    }

    // MARK: Two downloads to one place

    /// A download removes the partial files that killed processes have left at the same path. A file that is still being written stays.
    @Test func whatSecondDownloadsLeftGoes() async throws {
        for name in [".2", ".3", ".7"] { folder.write(noise(1000), to: Self.part + name) }
        let held = try #require(try PartialFile.opened(path: folder(Self.part + ".5")))
        folder.write(noise(1000), to: ".a.bin.2.trellis-part")
        let server = try FileServer(Self.content)
        _ = try await download(server).value
        #expect(folder.names == [".a.bin.2.trellis-part", Self.part + ".5", "a.bin"])
        held.remove()
    }

    @Test func aSecondDownloadTakesWhatNobodyHolds() async throws {
        let (_, request) = try await touching { _ in
            folder.write(noise(5_000_000), to: Self.part + ".2")
            folder.write(noise(1000), to: Self.part + ".4")
            let server = try FileServer(Self.content)
            let other = session.downloadRequest(server.url, to: .file(folder("a.bin"), .removePreviousFile))
            #expect(try await other.value.resumedBytes == 0)
            #expect(folder.data("a.bin") == Self.content)
            // The note of the first download may be about to be written again.
            #expect(folder.names.filter { $0 != Self.note + ".new" } == [Self.note, Self.part, "a.bin"])
        }
        await fails(.file, .downloadFailed(.exists(path: folder("a.bin")))) { try await request.value }
    }

    /// A second download can be resumed. Its partial file is found only through its resume data, and no other download removes that file.
    @Test func aSecondDownloadIsGoneOnWith() async throws {
        let gate = LoopbackServer.Gate()
        let other = try FileServer(Self.content) { number, _ in number == 1 ? .stalled(500_000, gate) : .whole }
        let (server, request) = try await touching { _ in
            let second = session.downloadRequest(other.url, to: .file(folder("a.bin"), .removePreviousFile))
            for await progress in second.progress where progress.completedBytes == 500_000 { break }
            let data = try #require(await second.cancelProducingResumeData())
            let third = session.downloadRequest(other.url, to: .file(folder("a.bin"), .removePreviousFile))
            #expect(try await third.value.resumedBytes == 0)
            let file = try await session.downloadRequest(resuming: data, to: .file(folder("b.bin"))).value
            #expect(file.resumedBytes == 500_000 && folder.data("b.bin") == Self.content)
        }
        gate.open()
        await fails(.file) { try await request.value }
        #expect(folder.names == [Self.note, Self.part, "a.bin", "b.bin"] && server.ranges.count == 2)
    }
}
