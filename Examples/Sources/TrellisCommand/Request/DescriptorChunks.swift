import Glibc
import TerminalKit
import Trellis

/// The bytes of standard input, or of another source that can be read only once, from its beginning to its end, in chunks.
struct DescriptorChunks: AsyncSequence, Sendable {
    /// The open descriptor; `nil` if the name is a path, which is opened when its first bytes are needed.
    private let descriptor: CInt?
    private let name: String
    /// The number of bytes; `nil` if the system does not report it.
    let length: Int64?

    /// What is said on standard error if nothing has come after a while.
    private var remark: String?

    /// Returns the bytes of standard input. Their number is known if standard input is a file.
    ///
    /// - Parameter remark: What is said on standard error if nothing has come after two seconds.
    static func standardInput(remarking remark: String? = nil) throws -> DescriptorChunks {
        var status = stat()
        guard fstat(STDIN_FILENO, &status) == 0 else {
            throw RequestFailure("file", "standard input: \(systemError())")
        }
        var length: Int64?
        if status.st_mode & S_IFMT == S_IFREG {
            length = Swift.max(0, Int64(status.st_size) - Int64(lseek(STDIN_FILENO, 0, SEEK_CUR)))
        }
        var chunks = DescriptorChunks(descriptor: STDIN_FILENO, name: "standard input", length: length)
        chunks.remark = remark
        return chunks
    }

    /// Creates a sequence of the bytes of a pipe or a device. A pipe may have no writer yet, so the path is opened when its first bytes are
    /// needed.
    ///
    /// - Parameter length: The number of bytes, if it is known.
    init(_ path: String, length: Int64? = nil) { self.init(descriptor: nil, name: path, length: length) }

    private init(descriptor: CInt?, name: String, length: Int64?) {
        self.descriptor = descriptor
        self.name = name
        self.length = length
    }

    /// Returns whether the path is a file or a folder, which the framework can read itself.
    static func isRegularFile(_ path: String) throws -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { throw RequestFailure("file", "\(path): \(systemError())") }
        return status.st_mode & S_IFMT == S_IFREG || status.st_mode & S_IFMT == S_IFDIR
    }

    /// Returns the size of a file; `nil` for what is no regular file.
    static func size(_ path: String) -> Int64? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int64(status.st_size)
    }

    func makeAsyncIterator() -> Iterator { Iterator(descriptor: descriptor, name: name, remark: remark) }

    struct Iterator: AsyncIteratorProtocol {
        private(set) var descriptor: CInt?
        let name: String
        private(set) var remark: String?

        /// Returns the next bytes; `nil` at the end.
        mutating func next() async throws -> Data? {
            let (known, name, remark) = (descriptor, name, remark)
            // A cancelled task waits neither for a writer nor for bytes.
            let (opened, chunk) = try await offThePoolUnlessCancelled {
                let descriptor = known ?? open(name, O_RDONLY | O_CLOEXEC)
                guard descriptor >= 0 else { throw RequestFailure("file", "\(name): \(systemError())") }
                if let remark {
                    var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                    if poll(&polled, 1, 2000) == 0 { Terminal.error.print(remark) }
                }
                var chunk = [UInt8](repeating: 0, count: 128 << 10)
                var count: Int
                repeat { count = read(descriptor, &chunk, chunk.count) } while count < 0 && errno == EINTR
                guard count >= 0 else { throw RequestFailure("file", "\(name): \(systemError())") }
                return (descriptor, count == 0 ? nil : Data(chunk.prefix(count)))
            }
            (descriptor, self.remark) = (opened, nil)
            return chunk
        }
    }
}
