import Foundation
import Testing
import TrellisTesting

@testable import CurlEngine

/// A file reaches the connection completely, from the page cache and from a disk.
struct FileUploadTests {
    /// A file with its bytes, removed at the end of the test.
    private struct Temporary: ~Copyable {
        let path: String
        let content: Data

        init(_ size: Int, seed: UInt64 = 1) throws {
            var random = SeededGenerator(seed: seed)
            path = NSTemporaryDirectory() + "trellis-upload-\(UUID())"
            content = random.bytes(size)
            try content.write(to: URL(filePath: path))
        }

        deinit { _ = unsafe unlink(path) }

        /// Removes the file from the page cache, if the file system uses the page cache.
        func evict() throws {
            let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
            try #require(descriptor >= 0)
            defer { close(descriptor) }
            // Only pages that were written to the disk can be removed.
            try #require(fdatasync(descriptor) == 0)
            try #require(posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED) == 0)
        }
    }

    /// Reads until the buffer is empty, and reads the parts of the file that the buffer requests.
    private static func readAll(_ buffer: inout UploadBuffer, size: Int) throws -> (bytes: Data, fetches: Int) {
        var bytes = Data()
        var fetches = 0
        while true {
            let piece = read(size, from: &buffer)
            bytes += piece
            if let part = buffer.beginFetch(isStarved: piece.isEmpty) {
                fetches += 1
                buffer.endFetch(try part.read())
            } else if piece.isEmpty {
                return (bytes, fetches)
            }
        }
    }

    private static func read(_ count: Int, from buffer: inout UploadBuffer) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: count) { bytes, filled in
            filled = unsafe buffer.read(into: UnsafeMutableRawBufferPointer(bytes))
        }
    }

    @Test(arguments: [(1, 1), (5000, 100), (1_000_000, 65536), (1_000_000, 999_999)])
    func aFileInMemoryIsReadWithoutAnyFetch(_ size: Int, _ room: Int) throws {
        let file = try Temporary(size)
        var buffer = UploadBuffer()
        buffer.append(try FileReader(path: file.path, length: Int64(size)))
        let (bytes, fetches) = try Self.readAll(&buffer, size: room)
        #expect(bytes == file.content)
        #expect(fetches == 0)
        #expect(buffer.file == nil, "a file that was read is closed")
        #expect(buffer.hasRoom)
    }

    @Test(arguments: [65536, 300_001])
    func aFileThatIsNotInMemoryIsFetched(_ room: Int) throws {
        let file = try Temporary(1_000_000)
        try file.evict()
        var buffer = UploadBuffer()
        buffer.append(try FileReader(path: file.path, length: 1_000_000))
        #expect(try Self.readAll(&buffer, size: room).bytes == file.content)
        #expect(buffer.file == nil)
    }

    @Test(arguments: [1, 4096, 65536, 300_001])
    func aFileOfWhichNobodyKnowsWhatIsInMemoryIsFetchedWhole(_ room: Int) throws {
        let size = room == 1 ? 5000 : 1_000_000
        let file = try Temporary(size)
        var buffer = UploadBuffer()
        buffer.append(try FileReader(path: file.path, length: Int64(size)), isFetchedWhole: true)
        let (bytes, fetches) = try Self.readAll(&buffer, size: room)
        #expect(bytes == file.content)
        #expect(fetches == (size + (256 << 10) - 1) / (256 << 10))
        #expect(buffer.file == nil)
    }

    @Test func nothingOvertakesWhatIsBeingFetched() throws {
        let file = try Temporary(600_000)
        var buffer = UploadBuffer()
        buffer.append(try FileReader(path: file.path, length: 600_000))
        let wanted = buffer.beginFetch(isStarved: true)
        let part = try #require(wanted)
        #expect(Self.read(1000, from: &buffer).isEmpty)
        #expect(buffer.beginFetch(isStarved: true) == nil, "one part at a time")
        buffer.endFetch(try part.read())
        #expect(try Self.readAll(&buffer, size: 100_000).bytes == file.content)
    }

    @Test func chunksComeBeforeTheFile() throws {
        let file = try Temporary(1000)
        var buffer = UploadBuffer()
        buffer.append(Data([1, 2, 3]))
        buffer.append(try FileReader(path: file.path, length: 1000))
        #expect(!buffer.hasRoom)
        #expect(try Self.readAll(&buffer, size: 600).bytes == Data([1, 2, 3]) + file.content)
    }

    @Test func aFileThatGrowsIsCutAtTheLengthAnnounced() throws {
        let file = try Temporary(5000)
        var buffer = UploadBuffer()
        buffer.append(try FileReader(path: file.path, length: 3000))
        #expect(try Self.readAll(&buffer, size: 1024).bytes == file.content.prefix(3000))
        let reader = try FileReader(path: file.path, length: 3000)
        #expect(try reader.read(atMost: 10_000, at: 2000) == file.content[2000..<3000])
    }

    @Test func aFileThatShrinksIsAnError() throws {
        let file = try Temporary(5000)
        var buffer = UploadBuffer()
        buffer.append(try FileReader(path: file.path, length: 5000))
        #expect(Self.read(1000, from: &buffer).count == 1000)
        let isTruncated = unsafe truncate(file.path, 1000) == 0
        try #require(isTruncated)
        #expect(Self.read(1000, from: &buffer).isEmpty)
        let wanted = buffer.beginFetch(isStarved: true)
        let part = try #require(wanted)
        #expect(throws: FileError.shrunk) { try part.read() }
    }

    @Test func whatIsFetchedAfterTheEndGoesNowhere() throws {
        let file = try Temporary(5000)
        var buffer = UploadBuffer()
        buffer.append(try FileReader(path: file.path, length: 5000))
        let wanted = buffer.beginFetch(isStarved: true)
        let part = try #require(wanted)
        buffer.discard()
        buffer.endFetch(try part.read())
        #expect(buffer.buffered == 0)
        #expect(buffer.file == nil)
    }

    /// The system sends one large part at a time, after the chunks; few bytes are copied.
    @Test func largePartsOfAFileAreSentByTheSystem() throws {
        let size = 1 << 20 + 300_000
        let file = try Temporary(size)
        var buffer = UploadBuffer()
        buffer.append(Data([1]))
        buffer.append(try FileReader(path: file.path, length: Int64(size)))
        let early = buffer.beginSending(atMost: .max)
        #expect(early == nil && Self.read(1, from: &buffer) == [1])
        let limited = buffer.beginSending(atMost: 100_000)
        #expect(limited == nil && !buffer.isWaitingForFile)
        let part = buffer.beginSending(atMost: .max), second = buffer.beginSending(atMost: .max)
        #expect(part != nil && second == nil && buffer.isWaitingForFile)
        #expect(Self.read(1000, from: &buffer).isEmpty, "nothing overtakes the part")
        // The socket has taken most of the part.
        buffer.endSending(1_000_000, isSupported: true)
        let rest = try Self.readAll(&buffer, size: 65536).bytes
        #expect(rest == file.content.dropFirst(1_000_000) && buffer.file == nil)
    }

    @Test func aFileThatTheSystemCannotSendIsCopied() throws {
        let size = 1 << 20
        let file = try Temporary(size)
        var buffer = UploadBuffer()
        buffer.append(try FileReader(path: file.path, length: Int64(size)))
        let part = buffer.beginSending(atMost: .max)
        let sent = try #require(part).send(on: -1)
        #expect(sent.count == 0)
        buffer.endSending(0, isSupported: false)
        let again = buffer.beginSending(atMost: .max)
        #expect(again == nil)
        #expect(try Self.readAll(&buffer, size: 65536).bytes == file.content)
    }

    @Test func anEmptyFileIsNoFile() throws {
        let file = try Temporary(0)
        var buffer = UploadBuffer()
        buffer.append(try FileReader(path: file.path, length: 0))
        #expect(buffer.hasRoom)
    }

    @Test(arguments: ["/nonexistent", "/tmp", "/dev/null"])
    func onlyRegularFilesAreOpened(_ path: String) {
        #expect(throws: FileError.self) { try FileReader(path: path, length: 1) }
    }

    /// A pipe is refused without being opened for reading, which would wait for a writer.
    @Test func aPipeInPlaceOfAFileIsRefusedAtOnce() throws {
        let path = NSTemporaryDirectory() + "trellis-pipe-\(UUID())"
        let isMade = unsafe mkfifo(path, 0o600) == 0
        try #require(isMade)
        defer { _ = unsafe unlink(path) }
        #expect(throws: FileError(reason: "it is no regular file")) { try FileReader(path: path, length: 1) }
    }

    @Test func readersCloseWhatTheyOpened() async {
        await #expect(processExitsWith: .success) {
            let before = ProcessFacts.descriptors.count
            for _ in 0..<100 {
                _ = try? FileReader(path: "/etc/passwd", length: 1)
                _ = try? FileReader(path: "/tmp", length: 1)
            }
            // The runtime may open a few of its own at any time; one per reader would be two hundred.
            let after = ProcessFacts.descriptors.count
            expectInProcess(after < before + 10, "\(before) then \(after)")
        }
    }
}
