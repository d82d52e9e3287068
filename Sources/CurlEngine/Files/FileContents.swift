private import Glibc

/// The complete contents of small files, such as certificates. Reading can wait for a disk: use it off the engine thread.
package enum FileContents {
    /// The marks by which a change of a file is noticed.
    package struct Stamp: Hashable, Sendable {
        private let device: UInt
        private let inode: UInt
        private let size: Int
        private let modified: [Int]

        /// Reads the marks of the file at a path, if any.
        package init?(path: String) {
            var status = stat()
            guard unsafe stat(path, &status) == 0 else { return nil }
            device = UInt(status.st_dev)
            inode = UInt(status.st_ino)
            size = Int(status.st_size)
            // A pipe is read once: its times change with each use, and another read would wait for another writer.
            guard status.st_mode & S_IFMT != S_IFIFO else {
                modified = []
                return
            }
            modified = [
                Int(status.st_mtim.tv_sec), Int(status.st_mtim.tv_nsec), Int(status.st_ctim.tv_sec),
                Int(status.st_ctim.tv_nsec),
            ]
        }
    }

    /// The largest number of bytes that are read.
    package static var limit: Int { 64 << 20 }

    /// Returns the bytes of a file or a pipe.
    package static func read(path: String) throws(FileError) -> [UInt8] {
        guard !path.isEmpty else { throw FileError(reason: "its path is empty") }
        // The system would read the path up to the NUL alone.
        guard !path.utf8.contains(0) else { throw FileError(reason: "its path contains a NUL byte") }
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw .system }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = unsafe Glibc.read(descriptor, &buffer, buffer.count)
            if count == 0 { return bytes }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .system }
            bytes += buffer[..<count]
            guard bytes.count <= limit else { throw FileError(reason: "it is larger than \(limit) bytes") }
        }
    }
}
