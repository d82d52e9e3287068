package import FoundationEssentials
private import Glibc

/// A regular file that is read from the front. Its reads block: use it off the engine thread.
package struct FileReader: ~Copyable {
    /// Why a file cannot be used, in words.
    package struct Failure: Error, Hashable, Sendable {
        package let why: String

        package init(why: String) { self.why = why }
    }

    private let descriptor: Int32
    private var offset: Int64 = 0

    /// Opens the file.
    package init(path: String) throws(Failure) {
        descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.systemFailure() }
    }

    deinit { close(descriptor) }

    /// The size of a regular, readable file.
    package static func size(path: String) throws(Failure) -> Int64 {
        // The system would take the part before it for the whole path.
        guard !path.utf8.contains(0) else { throw Failure(why: "its path holds a NUL") }
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw systemFailure() }
        guard status.st_mode & S_IFMT == S_IFREG else {
            let isDirectory = status.st_mode & S_IFMT == S_IFDIR
            throw Failure(why: isDirectory ? "it is a directory" : "it is no regular file")
        }
        guard unsafe access(path, R_OK) == 0 else { throw systemFailure() }
        return Int64(status.st_size)
    }

    /// The next bytes, none at the end.
    package mutating func read(atMost count: Int) throws(Failure) -> Data {
        guard let buffer = unsafe malloc(count) else { throw Failure(why: "no memory") }
        let got = unsafe pread(descriptor, buffer, count, off_t(offset))
        guard got > 0 else {
            unsafe free(buffer)
            if got < 0 { throw Self.systemFailure() }
            return Data()
        }
        offset += Int64(got)
        return unsafe Data(bytesNoCopy: buffer, count: got, deallocator: .free)
    }

    private static func systemFailure() -> Failure { Failure(why: unsafe String(cString: strerror(errno))) }
}
