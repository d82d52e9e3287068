private import CCurl
package import FoundationEssentials
private import Glibc

/// Small files that are read and replaced completely. Every function here can wait for a disk: use them off the engine thread.
package enum WholeFile {
    /// The version of a file: a file that is replaced or written to gets another one.
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

    /// Returns the path to which a path leads through symbolic links, also if the last one leads to no file yet; the path itself if
    /// it is no link.
    package static func target(of path: String) -> String {
        var path = path
        // The system follows 40 links at most, too.
        for _ in 0..<40 {
            if let resolved = unsafe realpath(path, nil) {
                defer { unsafe free(resolved) }
                return unsafe String(cString: resolved)
            }
            guard let next = destination(ofLinkAt: path) else { return path }
            let folder = FileSystem.folder(of: path)
            path = next.utf8.first == UInt8(ascii: "/") ? next : folder == "/" ? "/" + next : "\(folder)/\(next)"
        }
        return path
    }

    /// Returns the text of a symbolic link; `nil` if the path is no link.
    private static func destination(ofLinkAt path: String) -> String? {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe bytes.withUnsafeMutableBytes { buffer in
            guard let base = buffer.baseAddress else { return -1 }
            return unsafe readlink(path, base.assumingMemoryBound(to: CChar.self), buffer.count)
        }
        guard count > 0, count < bytes.count else { return nil }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    /// Checks that a path can name a regular file, whether or not there is one.
    package static func check(path: String) throws(FileError) {
        guard !path.isEmpty else { throw FileError(reason: "its path is empty") }
        // The system would read the path up to the NUL alone.
        guard !path.utf8.contains(0) else { throw FileError(reason: "its path contains a NUL byte") }
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFREG else { throw FileError(reason: "it is not a regular file") }
    }

    /// Returns the present version of a file, if any.
    package static func version(path: String) -> Version? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? Version(status) : nil
    }

    /// Returns the instant at which a file, or the names in a folder, were changed last, in nanoseconds since 1970, if any.
    package static func modificationTime(path: String) -> Int64? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        return Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
    }

    /// Returns the number of bytes of a file; 0 if there is none.
    package static func size(path: String) -> Int64 {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// Creates an empty file that only its user may read, unless there is a file.
    package static func create(path: String) throws(FileError) {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .system }
        close(descriptor)
    }

    /// Returns the bytes of a regular file of at most `limit` bytes, and their version, if any.
    ///
    /// - Parameter isOwn: Whether the file has to belong to this user, and the path has to be its only name: in a folder that
    ///   others can write to, any other file may be a trap.
    /// - Parameter isSecret: Whether nobody but this user may have access to the file.
    package static func read(
        path: String, limit: Int, ofThisUserAlone isOwn: Bool = false, withSecrets isSecret: Bool = false
    ) throws(FileError) -> (data: Data, version: Version)? {
        let descriptor = try FileOperationHook.watching(.open(path: path)) { () throws(FileError) -> Int32? in
            let descriptor = FileReader.openForReading(path, followsLink: !isOwn)
            guard descriptor < 0 else { return descriptor }
            guard errno == ENOENT else { throw .system }
            return nil
        }
        guard let descriptor else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw .system }
        guard status.st_mode & S_IFMT == S_IFREG else { throw FileError(reason: "it is not a regular file") }
        // Without a name, it is a file that another process has replaced since it was opened.
        guard !isOwn || status.st_uid == geteuid() && status.st_nlink <= 1 else {
            throw FileError(reason: "it does not belong to this user alone")
        }
        guard !isSecret || status.st_mode & 0o077 == 0 else {
            throw FileError(reason: "others may have access to it, and its contents are secret")
        }
        guard status.st_size <= limit else { throw FileError(reason: "it is larger than \(limit) bytes") }
        let room = Int(status.st_size)
        guard room > 0 else { return (Data(), Version(status)) }
        guard let buffer = unsafe malloc(room) else { throw FileError(reason: "out of memory") }
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

    /// Replaces the file at `path`, or creates it. A reader of the path finds the old bytes or the new ones, even after a failure
    /// of the machine. Call this with the file's lock: there is one temporary file, `path` with `.new`.
    ///
    /// The new file has the permissions of the old one; without an old one, only its owner may read it.
    ///
    /// - Parameter isDurable: Whether the new file has to be on the disk when the call returns. Without that, a failure
    ///   of the machine may leave an empty file; the end of the process does not.
    @discardableResult
    package static func replace(
        path: String, with data: Data, isDurable: Bool = true
    ) throws(FileError) -> Version? {
        let temporary = path + ".new"
        var status = stat()
        let mode = unsafe stat(path, &status) == 0 ? status.st_mode & 0o777 : 0o600
        // Never a file of another user, even in a folder that others can write to.
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC
        var descriptor = unsafe open(temporary, flags, 0o600)
        if descriptor < 0, errno == EEXIST {
            // The temporary file of a process that ended in here.
            _ = unsafe unlink(temporary)
            descriptor = unsafe open(temporary, flags, 0o600)
        }
        guard descriptor >= 0 else { throw .system }
        let failure = fill(descriptor, with: data, mode: mode, synchronizing: isDurable ? temporary : nil)
        var written = stat()
        let isKnown = unsafe fstat(descriptor, &written) == 0
        close(descriptor)
        if let failure {
            _ = unsafe unlink(temporary)
            throw failure
        }
        do throws(FileError) {
            try FileOperationHook.watching(.rename(from: temporary, to: path)) { () throws(FileError) in
                guard unsafe rename(temporary, path) == 0 else { throw .system }
            }
        } catch {
            _ = unsafe unlink(temporary)
            throw error
        }
        if isDurable { FileSystem.synchronize(folder: FileSystem.folder(of: path)) }
        return isKnown ? Version(written) : nil
    }

    /// Writes the bytes and the permissions, and synchronizes the file if a path is given. Returns the failure, if any.
    private static func fill(
        _ descriptor: Int32, with data: Data, mode: mode_t, synchronizing path: String?
    ) -> FileError? {
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
        // Before the renaming: otherwise the path could name an empty file after a failure of the machine.
        do throws(FileError) {
            try FileOperationHook.watching(.synchronize(path: path)) { () throws(FileError) in
                guard fsync(descriptor) == 0 else { throw .system }
            }
            return nil
        } catch { return error }
    }
}
