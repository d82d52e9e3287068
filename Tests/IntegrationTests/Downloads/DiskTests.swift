import Foundation
import Glibc
import Testing
import Trellis
import TrellisTesting

/// Downloads report disks that are full or read-only, or that do not have the partial file. Tests that need their own file system run if
/// one can be mounted; otherwise, tests in a process with its own limits replace them.
@Suite(.timeLimit(.minutes(3)))
struct DiskTests {
    private static let content = noise(4 << 20, seed: 6)
    private let session = Session()
    private static let needsMount: Comment = "mounting needs root; a process with limits of its own stands for it"

    /// Returns the resume data of an interrupted download, and its server, which runs as long as it is retained.
    private static func interrupted(
        _ path: String, at count: Int
    ) async throws -> (server: FileServer, data: ResumeData) {
        let server = try FileServer(content) { number, _ in number == 1 ? .cut(count) : .whole }
        var options = DownloadOptions()
        options.maximumFailures = 0
        let request = Session().downloadRequest(server.url, to: .file(path), options: options)
        await fails(.truncatedBody) { try await request.value }
        return (server, try #require(request.resumeData))
    }

    // MARK: Full disk

    @Test(.enabled(if: SmallDisk.isAvailable, needsMount), arguments: [1, 4])
    func aFullDisk(_ connections: Int) async throws {
        let disk = try SmallDisk(kilobytes: 3 << 10)
        disk.folder.write(Data("old".utf8), to: "a.bin")
        let server = try FileServer(Self.content)
        var options = DownloadOptions()
        options.connections = connections
        let destination = DownloadDestination.file(disk.folder("a.bin"), .removePreviousFile)
        let request = session.downloadRequest(server.url, to: destination, options: options)
        let error = await fails(.file) { try await request.value }
        #expect(error?.description.contains("No space left on device") == true)
        #expect(disk.folder.data("a.bin") == Data("old".utf8))
        // The bytes that are reported as kept exist, and the download continues on a disk with room.
        let kept = try #require(request.resumeData?.receivedBytes)
        #expect(kept > 0)
        try disk.remount("size=16m")
        #expect(try await session.downloadRequest(server.url, to: destination).value.resumedBytes == kept)
        #expect(disk.folder.data("a.bin") == Self.content && disk.folder.names == ["a.bin"])
    }

    /// A download that cannot even write a note does not report that it can be resumed.
    @Test(.enabled(if: SmallDisk.isAvailable, needsMount)) func aDiskWithoutRoomForAnything() async throws {
        let disk = try SmallDisk(kilobytes: 64)
        disk.folder.write(Data(count: 64 << 10), to: "other")
        let server = try FileServer(Self.content)
        let request = session.downloadRequest(server.url, to: .file(disk.folder("a.bin")))
        let error = await fails(.file) { try await request.value }
        #expect(error?.description.contains("No space left on device") == true)
        #expect(request.resumeData == nil && disk.folder.names == ["other"])
    }

    /// A limit on the size of files has the same effect as a full disk.
    @Test func aFileThatMayNotGrow() async {
        await #expect(processExitsWith: .success) {
            var limit = rlimit(rlim_cur: 1 << 20, rlim_max: 1 << 20)
            let isSet = unsafe setrlimit(__rlimit_resource_t(1), &limit) == 0
            #expect(isSet)
            _ = signal(SIGXFSZ, SIG_IGN)
            let folder = try Folder()
            let server = try FileServer(DiskTests.content)
            let request = Session().downloadRequest(server.url, to: .file(folder("a.bin")))
            let error = await fails(.file) { try await request.value }
            #expect(error?.description.contains("File too large") == true)
            #expect(folder.data("a.bin") == nil && request.resumeData?.receivedBytes ?? 0 <= 1 << 20)
        }
    }

    // MARK: Read-only disk

    @Test(.enabled(if: SmallDisk.isAvailable, needsMount)) func aReadOnlyDisk() async throws {
        let disk = try SmallDisk(kilobytes: 64)
        try disk.remount("ro")
        let server = try FileServer(Self.content)
        for destination in [DownloadDestination.file(disk.folder("a.bin")), .directory(disk.folder.path)] {
            let error = await fails(.file) { try await session.downloadRequest(server.url, to: destination).value }
            #expect(error?.description.contains("Read-only file system") == true)
        }
        #expect(disk.folder.names == [])
        // The name in a folder is part of the response.
        #expect(server.server.requests.count <= 1)
    }

    /// A folder without write permission is an error. The process drops the rights of root first.
    @Test func aFolderThatIsNotOnesOwn() async {
        await #expect(processExitsWith: .success) {
            let folder = try Folder()
            let isClosed = unsafe chmod(folder.path, 0o555) == 0
            #expect(isClosed)
            if geteuid() == 0 { #expect(setuid(65534) == 0) }
            let server = try FileServer(DiskTests.content)
            let error = await fails(.file) {
                try await Session().downloadRequest(server.url, to: .file(folder("a.bin"))).value
            }
            #expect(error?.description.contains("Permission denied") == true)
            #expect(folder.names == [] && server.ranges.isEmpty)
        }
    }

    // MARK: Another disk

    @Test(.enabled(if: SmallDisk.isAvailable, needsMount)) func aPartialFileOnAnotherDisk() async throws {
        let (folder, disk) = (try Folder(), try SmallDisk(kilobytes: 8 << 10))
        let (server, data) = try await Self.interrupted(folder("a.bin"), at: 1_500_000)
        let file = try await session.downloadRequest(resuming: data, to: .file(disk.folder("b.bin"))).value
        #expect(file.resumedBytes == 1_500_000 && server.ranges == [nil, "bytes=1500000-"])
        #expect(disk.folder.data("b.bin") == Self.content && disk.folder.names == ["b.bin"] && folder.names == [])
    }

    /// A partial file in shared memory is resumed in another folder: both file systems exist on every machine.
    @Test func aPartialFileInSharedMemory() async throws {
        let folder = try Folder()
        let elsewhere = "/dev/shm/trellis-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: elsewhere, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: elsewhere) }
        let (server, data) = try await Self.interrupted("\(elsewhere)/a.bin", at: 1_500_000)
        let file = try await session.downloadRequest(resuming: data, to: .file(folder("b.bin"))).value
        #expect(file.resumedBytes == 1_500_000 && server.ranges == [nil, "bytes=1500000-"])
        #expect(folder.data("b.bin") == Self.content && folder.names == ["b.bin"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: elsewhere) == [])
    }

    /// A partial file that does not fit on the other disk stays where it is.
    @Test(.enabled(if: SmallDisk.isAvailable, needsMount)) func aPartialFileThatDoesNotFit() async throws {
        let (folder, disk) = (try Folder(), try SmallDisk(kilobytes: 1 << 10))
        let (server, data) = try await Self.interrupted(folder("a.bin"), at: 1_500_000)
        let error = await fails(.file) {
            try await session.downloadRequest(resuming: data, to: .file(disk.folder("b.bin"))).value
        }
        #expect(error?.description.contains("No space left on device") == true)
        #expect(disk.folder.names == [] && server.ranges == [nil])
        #expect(
            try await session.downloadRequest(resuming: data, to: .file(folder("a.bin"))).value.resumedBytes
                == 1_500_000)
        #expect(folder.data("a.bin") == Self.content && folder.names == ["a.bin"])
    }
}
