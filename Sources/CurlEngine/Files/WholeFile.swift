private import CCurl
package import FoundationEssentials
private import Glibc

/// Small files that are read and replaced as a whole. Everything here blocks: use it off the engine thread.
package enum WholeFile {
    /// Tells a version of a file from every other: one that is replaced or written to has another.
    package struct Version: Hashable, Sendable {
        private let device, inode, size, seconds, nanoseconds: Int64

        fileprivate init(_ status: stat) {
            device = Int64(truncatingIfNeeded: status.st_dev)
            inode = Int64(truncatingIfNeeded: status.st_ino)
            size = Int64(status.st_size)
            seconds = Int64(status.st_mtim.tv_sec)
            nanoseconds = Int64(status.st_mtim.tv_nsec)
        }
    }

    /// The file that a path stands for, through symbolic links; the path itself where there is none yet.
    package static func target(of path: String) -> String {
        guard let resolved = unsafe realpath(path, nil) else { return path }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }

    /// Whether the path can name such a file, there or not.
    package static func check(path: String) throws(FileReader.Failure) {
        guard !path.isEmpty else { throw FileReader.Failure(why: "its path is empty") }
        // The system would take the part before it for the whole path.
        guard !path.utf8.contains(0) else { throw FileReader.Failure(why: "its path holds a NUL") }
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFREG else { throw FileReader.Failure(why: "it is no regular file") }
    }

    /// The version of the file as it is now; `nil` where there is none.
    package static func version(path: String) -> Version? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? Version(status) : nil
    }

    /// The bytes of a regular file of at most `limit` bytes, and their version; `nil` where there is none.
    package static func read(path: String, limit: Int) throws(FileReader.Failure) -> (data: Data, version: Version)? {
        let descriptor = FileReader.openForReading(path)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw .system
        }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw .system }
        guard status.st_mode & S_IFMT == S_IFREG else { throw FileReader.Failure(why: "it is no regular file") }
        guard status.st_size <= limit else { throw FileReader.Failure(why: "it is larger than \(limit) bytes") }
        let room = Int(status.st_size)
        guard room > 0 else { return (Data(), Version(status)) }
        guard let buffer = unsafe malloc(room) else { throw FileReader.Failure(why: "no memory") }
        var count = 0
        while count < room {
            let got = unsafe Glibc.read(descriptor, buffer + count, room - count)
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else {
                unsafe free(buffer)
                throw .system
            }
            if got == 0 { break }
            count += got
        }
        return (unsafe Data(bytesNoCopy: buffer, count: count, deallocator: .free), Version(status))
    }

    /// Puts a new file in the place of the one at `path`, if there is one. Whoever reads the path finds the old bytes or the
    /// new ones, whenever the machine fails. Call it with the file's lock: there is one temporary file, `path` with `.new`.
    ///
    /// It keeps the permissions of the old file; without one nobody but its owner may read it.
    ///
    /// - Parameter isDurable: The new file is on the disk when this returns. Without it, a machine that fails may leave an empty
    ///   one; a process that ends does not.
    @discardableResult
    package static func replace(
        path: String, with data: Data, isDurable: Bool = true
    ) throws(FileReader.Failure) -> Version? {
        let temporary = path + ".new"
        var status = stat()
        let mode = unsafe stat(path, &status) == 0 ? status.st_mode & 0o777 : 0o600
        // What a process left that ended in here.
        _ = unsafe unlink(temporary)
        // Nobody else's file, even in a folder that others can write to.
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .system }
        let failure = fill(descriptor, data, mode, synchronizing: isDurable ? temporary : nil)
        var written = stat()
        let isKnown = unsafe fstat(descriptor, &written) == 0
        close(descriptor)
        if let failure {
            _ = unsafe unlink(temporary)
            throw failure
        }
        do throws(FileReader.Failure) {
            try DiskWatch.watching(.rename(from: temporary, to: path)) { () throws(FileReader.Failure) in
                guard unsafe rename(temporary, path) == 0 else { throw .system }
            }
        } catch {
            _ = unsafe unlink(temporary)
            throw error
        }
        if isDurable { FilePlaces.synchronize(folder: FilePlaces.folder(of: path)) }
        return isKnown ? Version(written) : nil
    }

    private static func fill(
        _ descriptor: Int32, _ data: Data, _ mode: mode_t, synchronizing path: String?
    ) -> FileReader.Failure? {
        var rest = data[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { bytes in unsafe write(descriptor, bytes.baseAddress, bytes.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return .system }
            rest = rest.dropFirst(count)
        }
        guard fchmod(descriptor, mode) == 0 else { return .system }
        guard let path else { return nil }
        // Before the name: otherwise it could name an empty file after the machine failed.
        do throws(FileReader.Failure) {
            try DiskWatch.watching(.synchronize(path: path)) { () throws(FileReader.Failure) in
                guard fsync(descriptor) == 0 else { throw .system }
            }
            return nil
        } catch { return error }
    }
}
