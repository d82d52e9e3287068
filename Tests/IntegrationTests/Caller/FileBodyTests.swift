import Foundation
import Testing
import Trellis
import TrellisTestTraits
import TrellisTesting

/// Bodies from files that are missing or change fail their requests; others are sent completely.
@Suite(.timeLimit(.minutes(3)))
struct FileBodyTests {
    @Test(
        arguments: ["", "/nonexistent/file", "/etc/passwd/file", "/tmp", "/dev/null", "/etc/passwd\0.txt"] as [Escaped])
    func fileThatCannotBeRead(_ path: Escaped) async throws {
        let server = try Misbehaviour(answering: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        let error = await expectFailure([.file]) {
            try await server.session.upload(.file(path.text), to: server.request)
        }
        #expect(error?.mayHaveSentBytes == false)
        #expect(server.server.requests.isEmpty)
        try await server.isHealthyAndLeavesNothing()
    }

    @Test func fileThatShrinksWhileItIsRead() async throws {
        let path = try temporaryFolder("shrinking") + "/file"
        try #require(FileManager.default.createFile(atPath: path, contents: nil))
        let file = try #require(FileHandle(forWritingAtPath: path))
        // A sparse file that is far larger than all buffers on the way.
        try file.truncate(atOffset: 256 << 20)
        let begun = LoopbackServer.Gate(), shrunk = LoopbackServer.Gate()
        let server = try Misbehaviour { connection, head in
            begun.open()
            try connection.wait(for: shrunk)
            _ = try connection.readBody(of: head, storing: false)
        }
        async let failure = expectFailure([.file, .invalidRequest]) {
            try await server.session.upload(.file(path), to: server.request)
        }
        try await begun.opened()
        try file.truncate(atOffset: 1 << 20)
        shrunk.open()
        _ = await failure
        try await server.isHealthyAndLeavesNothing()
    }

    @Test(.trellis(.http { .init(body: $0.body) }), arguments: [0, 1, 1_000_000])
    func fileIsSentWhole(_ size: Int) async throws {
        let path = try temporaryFolder("whole") + "/\(size)"
        let content = Data((0..<size).map { UInt8(truncatingIfNeeded: $0) })
        try content.write(to: URL(filePath: path))
        let (session, server) = (try #require(Session.current), try #require(LoopbackServer.current))
        let (data, _) = try await session.upload(.file(path), to: "/")
        #expect(data == content)
        #expect(server.requests.first?["Content-Length"] == "\(size)")
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    /// A file that is not in memory is sent completely. The kernel is instructed to drop its pages, so that the file has to be read from
    /// the disk.
    @Test(.trellis(.http { .init(body: $0.body) }))
    func fileThatIsNotInMemoryIsSentWhole() async throws {
        let path = try temporaryFolder("cold") + "/file"
        let content = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 / 5) })
        try content.write(to: URL(filePath: path))
        let file = try #require(FileHandle(forReadingAtPath: path))
        // Only pages that were written to the disk can be dropped.
        try #require(fdatasync(file.fileDescriptor) == 0)
        try #require(posix_fadvise(file.fileDescriptor, 0, 0, POSIX_FADV_DONTNEED) == 0)
        let (session, server) = (try #require(Session.current), try #require(LoopbackServer.current))
        let (data, _) = try await session.upload(.file(path), to: "/")
        #expect(data == content)
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    @Test func fileIsClosedWhenItsRequestIsCancelled() async throws {
        let path = try temporaryFolder("cancelled") + "/file"
        try #require(FileManager.default.createFile(atPath: path, contents: nil))
        // A sparse file that is far larger than all buffers on the way.
        try FileHandle(forWritingAtPath: path)?.truncate(atOffset: 256 << 20)
        let begun = LoopbackServer.Gate(), isOver = LoopbackServer.Gate()
        let server = try LoopbackServer { connection in
            _ = try connection.readHead()
            begun.open()
            try connection.wait(for: isOver)
            try connection.readToEnd()
        }
        let session = Session()
        let upload = Task { try await session.upload(.file(path), to: server.url()) }
        try await begun.opened()
        while !Self.isOpen(path) {
            try Task.checkCancellation()
            await Task.yield()
        }
        upload.cancel()
        _ = try? await upload.value
        isOver.open()
        while Self.isOpen(path) {
            try Task.checkCancellation()
            await Task.yield()
        }
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    private static func isOpen(_ path: String) -> Bool {
        let folder = "/proc/self/fd", manager = FileManager.default
        return ((try? manager.contentsOfDirectory(atPath: folder)) ?? []).contains { name in
            (try? manager.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")) == path
        }
    }
}
