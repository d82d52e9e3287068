import ClientKit
import Glibc
import NIOCore

/// A file as an asynchronous sequence of buffers. Reads block, but only for the time that the page cache takes.
struct FileChunks: Sendable {
    /// The size of the file.
    let length: Int64
    private let path: String
    private let chunkSize: Int

    init(path: String, chunkSize: Int) throws {
        var status = stat()
        guard stat(path, &status) == 0 else { throw FileFailure(path) }
        length = Int64(status.st_size)
        self.path = path
        self.chunkSize = chunkSize
    }

    /// The content of the file, from its beginning.
    var buffers: Buffers { Buffers(path: path, chunkSize: chunkSize) }

    /// The sequence of buffers, each of at most `chunkSize` bytes.
    struct Buffers: AsyncSequence, Sendable {
        let path: String
        let chunkSize: Int

        func makeAsyncIterator() -> Iterator {
            Iterator(descriptor: open(path, O_RDONLY | O_CLOEXEC), chunkSize: chunkSize)
        }
    }

    struct Iterator: AsyncIteratorProtocol {
        let descriptor: Int32
        let chunkSize: Int

        func next() async throws -> ByteBuffer? {
            var buffer = ByteBufferAllocator().buffer(capacity: chunkSize)
            let count = try buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: chunkSize) {
                let count = read(descriptor, $0.baseAddress, chunkSize)
                guard count >= 0 else { throw FileFailure("read") }
                return count
            }
            guard count == 0 else { return buffer }
            close(descriptor)
            return nil
        }
    }
}
