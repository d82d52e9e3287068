private import CCurl
package import FoundationEssentials
private import Glibc

/// A reader of a regular file, up to the length that was given when it was opened, for request bodies, checksums and copies.
///
/// Opening and ``read(atMost:at:)`` can wait for a disk: use them off the engine thread.
package final class FileReader: Sendable {
    /// The path of the file.
    package let path: String
    /// The number of bytes that are read, even if the file grows.
    package let length: Int64
    private let descriptor: Int32

    /// Opens the file.
    package init(path: String, length: Int64) throws(FileError) {
        self.path = path
        self.length = length
        // Opened with O_NONBLOCK: opening a pipe that took the file's place would otherwise wait for a writer.
        descriptor = try FileOperationHook.watching(.open(path: path)) { () throws(FileError) -> Int32 in
            let descriptor = Self.openForReading(path)
            guard descriptor >= 0 else { throw .system }
            return descriptor
        }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw .system }
        try Self.checkKind(status)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Opens a file, or a pipe without waiting for its writer.
    ///
    /// - Parameter followsLink: Whether the path may be a symbolic link.
    static func openForReading(_ path: String, followsLink: Bool = true) -> Int32 {
        let flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | (followsLink ? 0 : O_NOFOLLOW)
        let descriptor = unsafe open(path, flags | O_NONBLOCK)
        // Another process has a lease on the regular file, which the system now takes away. A pipe never reports this error.
        guard descriptor < 0, errno == EWOULDBLOCK else { return descriptor }
        return unsafe open(path, flags)
    }

    /// Returns the size of a regular, readable file.
    package static func size(path: String) throws(FileError) -> Int64 {
        guard !path.isEmpty else { throw FileError(reason: "its path is empty") }
        // The system would read the path up to the NUL alone.
        guard !path.utf8.contains(0) else { throw FileError(reason: "its path contains a NUL byte") }
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw .system }
        try checkKind(status)
        guard unsafe access(path, R_OK) == 0 else { throw .system }
        return Int64(status.st_size)
    }

    /// Throws an error unless the file is a regular file.
    private static func checkKind(_ status: stat) throws(FileError) {
        guard status.st_mode & S_IFMT != S_IFREG else { return }
        throw FileError(reason: status.st_mode & S_IFMT == S_IFDIR ? "it is a directory" : "it is no regular file")
    }

    /// Returns bytes from `offset` on, at least one, within ``length``.
    package func read(atMost count: Int, at offset: Int64) throws(FileError) -> Data {
        let count = Int(min(Int64(count), length - offset))
        return try FileOperationHook.watching(.read(path: path, offset..<offset + Int64(max(count, 0)))) {
            () throws(FileError) -> Data in try bytes(count, at: offset)
        }
    }

    private func bytes(_ count: Int, at offset: Int64) throws(FileError) -> Data {
        guard let buffer = unsafe malloc(max(count, 1)) else { throw FileError(reason: "out of memory") }
        var got: Int
        repeat { got = unsafe pread(descriptor, buffer, count, off_t(offset)) } while got < 0 && errno == EINTR
        guard got > 0 else {
            let failure = got < 0 ? FileError.system : .shrunk
            unsafe free(buffer)
            throw failure
        }
        return unsafe Data(bytesNoCopy: buffer, count: got, deallocator: .free)
    }

    /// The result of an attempt to send bytes of the file on a socket.
    enum Sending: Sendable {
        /// The result if the system has taken all of the bytes.
        case complete
        /// The result if the socket has no room at present.
        case full
        /// The result if the file system cannot send files, or reports an error that may be another one in a copy.
        case unsupported
        /// The result if the connection is broken, with the system's code.
        case broken(Int32)
        /// The result if the file cannot be read.
        case failed(FileError)
    }

    /// Sends bytes on a socket without a copy. Never waits for the socket. Returns their number, and the reason why there are no more.
    func send(_ bytes: Range<Int64>, on socket: Int32) -> (count: Int, Sending) {
        var position = bytes.lowerBound
        do throws(FileError) {
            return try FileOperationHook.watching(.read(path: path, bytes)) { () throws(FileError) in
                while position < bytes.upperBound {
                    let rest = Int(bytes.upperBound - position)
                    let sent = ccurl_socket_send_file(socket, descriptor, position, rest)
                    guard sent > 0 else {
                        let reason = sent == 0 ? Sending.failed(.shrunk) : Self.failure(errno, on: socket)
                        return (Int(position - bytes.lowerBound), reason)
                    }
                    position += Int64(sent)
                }
                return (bytes.count, .complete)
            }
        } catch {
            return (Int(position - bytes.lowerBound), .failed(error))
        }
    }

    /// Returns the result after an error, which may be the file system's or the socket's. A connection that is not broken would wait for
    /// the rest of the body.
    static func failure(_ code: Int32, on socket: Int32) -> Sending {
        switch code {
        case EAGAIN: .full
        case EINVAL, ENOSYS, EOPNOTSUPP, EOVERFLOW: .unsupported
        case EIO, ESTALE: .failed(FileError(reason: unsafe String(cString: strerror(code))))
        case EPIPE, ECONNRESET: .broken(code)
        default: ccurl_socket_is_open(socket) ? .unsupported : .broken(code)
        }
    }

    /// The result of a read that does not wait.
    enum Cached {
        case bytes(Int)
        /// The result if the bytes are not in memory, or the file has ended.
        case none
        /// The result if the file system or the kernel does not report it, or after an error, which ``read(atMost:at:)`` reports.
        case unknown
    }

    /// Fills `buffer` with the bytes from `offset` on that are in memory. Never waits for a disk.
    func readCached(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Cached {
        guard let start = buffer.baseAddress, offset < length else { return .none }
        let count = Int(min(Int64(buffer.count), length - offset))
        let got = unsafe ccurl_read_cached(descriptor, start, count, offset)
        return got > 0 ? .bytes(got) : got == 0 ? .none : .unknown
    }
}
