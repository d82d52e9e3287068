private import CCurl
package import FoundationEssentials
private import Glibc

/// A file that grows until it is complete, and is then renamed. A lock keeps other downloads from writing to the file meanwhile.
///
/// The lock is the system's (`flock`), so the system releases it when the process ends, for any reason. Every method here can
/// wait for a disk: use them off the engine thread.
package final class PartialFile: Sendable {
    /// The size and the modification time of a file, which show whether the file has been written to since.
    package struct Stamp: Hashable, Sendable {
        /// The size in bytes.
        package var size: Int64
        /// The modification time, in nanoseconds since 1970.
        package var modified: Int64

        /// Creates a stamp.
        package init(size: Int64, modified: Int64) {
            self.size = size
            self.modified = modified
        }
    }

    private let descriptor: Int32
    /// The path of the file, which a move changes.
    private let place: Locked<String>
    /// The length that the file must have at least: the end of the bytes written, or the length of the last truncation.
    private let extent: Locked<Int64>

    /// Opens or creates the file, and locks it. Returns `nil` if another lock is held, if the process may not write to the file,
    /// or if the path is a symbolic link or a file that does not belong to this user alone.
    ///
    /// - Parameter mode: The permissions of a new file, as far as the process's mask allows. Its owner may read and write the file
    ///   in any case: a file without these permissions could not be opened again. The permissions of an existing file stay.
    package static func opened(path: String, mode: UInt32 = 0o666) throws(FileError) -> PartialFile? {
        guard !path.utf8.contains(0) else { throw FileError(reason: "its path contains a NUL byte") }
        while true {
            let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode | 0o600)
            var status = stat(), named = stat()
            guard descriptor >= 0 else {
                let (code, failure) = (errno, FileError.system)
                if code == ELOOP { return nil }
                // A file that may not be opened stays; without a file, the folder is the obstacle.
                if code == EACCES || code == EPERM, unsafe lstat(path, &named) == 0 { return nil }
                throw failure
            }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, unsafe fstat(descriptor, &status) == 0 else {
                let isHeld = errno == EWOULDBLOCK || errno == EINTR
                let failure = FileError.system
                close(descriptor)
                if isHeld { return nil }
                throw failure
            }
            // The process that had the lock may have renamed or deleted the file.
            guard unsafe lstat(path, &named) == 0 else {
                let failure = errno == ENOENT ? nil : FileError.system
                close(descriptor)
                if let failure { throw failure }
                continue
            }
            guard named.st_ino == status.st_ino, named.st_dev == status.st_dev else {
                close(descriptor)
                continue
            }
            // In a folder that others can write to, the file may be a trap.
            guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(), status.st_nlink == 1 else {
                close(descriptor)
                return nil
            }
            return PartialFile(path: path, descriptor: descriptor, length: Int64(status.st_size))
        }
    }

    private init(path: String, descriptor: Int32, length: Int64) {
        place = Locked(path)
        extent = Locked(length)
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// The result of the deletion of a file that a process may have left.
    package enum CleanUpResult: Hashable, Sendable {
        /// The result after the file was deleted.
        case removed
        /// The result if the file stays: a process is writing to it, or it is not a regular file of this user alone.
        case held
        /// The result if there is no file.
        case missing
        /// The result if the system does not report it.
        case unknown
    }

    /// Deletes the file at a path, unless a process is writing to it.
    package static func removeAbandoned(path: String) -> CleanUpResult {
        let descriptor = unsafe open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            switch errno {
            case ENOENT: return .missing
            // A symbolic link, a folder, a socket, or a file of another user.
            case ELOOP, EISDIR, ENXIO, EACCES, EPERM: return .held
            default: return .unknown
            }
        }
        // A process that is about to take the file does not have the lock yet, and detects that the file is gone.
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, isNamed(path, descriptor), unsafe unlink(path) == 0 else {
            return .held
        }
        return .removed
    }

    /// Returns whether a path leads to an open file that belongs to this user alone.
    private static func isNamed(_ path: String, _ descriptor: Int32) -> Bool {
        var status = stat(), named = stat()
        return unsafe fstat(descriptor, &status) == 0 && lstat(path, &named) == 0
            && named.st_ino == status.st_ino && named.st_dev == status.st_dev
            && status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid() && status.st_nlink == 1
    }

    /// The path of the file.
    package var path: String { place.withLock { $0 } }

    /// Whether the file is still at its path, and no other file has replaced it.
    package var isInPlace: Bool { Self.isNamed(path, descriptor) }

    /// The size and the modification time now; `nil` if the system does not report it.
    package var stamp: Stamp? {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return nil }
        return Stamp(
            size: Int64(status.st_size),
            modified: Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec))
    }

    /// The length of the file in bytes, gaps included.
    package var length: Int64 {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// Throws an error if another process has shortened the file: bytes that were written would be zeros.
    package func check() throws(FileError) {
        let extent = extent.withLock { $0 }
        guard length >= extent else { throw FileError(reason: "another program has written to its partial file") }
    }

    /// Writes all of the bytes at their offset.
    package func write(_ data: Data, at offset: Int64) throws(FileError) {
        try check()
        try FileOperationHook.watching(.write(path: path, offset..<offset + Int64(data.count))) {
            () throws(FileError) in
            try WholeWrite.perform(data, to: descriptor, at: offset) { end in
                // The file must have this length from now on.
                extent.withLock { $0 = max($0, end) }
            }
        }
    }

    /// Returns bytes from `offset` on; none at the end.
    package func read(atMost count: Int, at offset: Int64) throws(FileError) -> Data {
        guard let buffer = unsafe malloc(max(count, 1)) else { throw FileError(reason: "out of memory") }
        var got: Int
        repeat { got = unsafe pread(descriptor, buffer, count, off_t(offset)) } while got < 0 && errno == EINTR
        guard got > 0 else {
            let failure = FileError.system
            unsafe free(buffer)
            if got == 0 { return Data() }
            throw failure
        }
        return unsafe Data(bytesNoCopy: buffer, count: got, deallocator: .free)
    }

    /// Shortens the file, or extends it with zeros.
    ///
    /// Does nothing if the length is the same: ext4 treats any truncation as the beginning of a replacement, and then writes the
    /// complete file to the disk before it is closed.
    package func truncate(to length: Int64) throws(FileError) {
        if length != self.length, ftruncate(descriptor, off_t(length)) != 0 { throw .system }
        // The extent is set even if another process has shortened the file to this length before.
        extent.withLock { $0 = length }
    }

    /// Waits until the complete file and the values of ``stamp`` are on the disk; returns `false` if the file system has no means
    /// for that.
    package func synchronize() throws(FileError) -> Bool { try synchronize(fsync) }

    /// Waits until the bytes written before the call are on the disk; returns `false` if the file system has no means for that.
    package func synchronizeData() throws(FileError) -> Bool { try synchronize(fdatasync) }

    private func synchronize(_ call: (Int32) -> Int32) throws(FileError) -> Bool {
        try FileOperationHook.watching(.synchronize(path: path)) { () throws(FileError) in
            if call(descriptor) == 0 { return true }
            guard errno == EINVAL || errno == ENOSYS || errno == ENOTSUP else { throw .system }
            return false
        }
    }

    /// Gives the file the permissions of another one.
    package func takePermissions(of other: PartialFile) throws(FileError) {
        var own = stat(), wanted = stat()
        guard unsafe fstat(descriptor, &own) == 0, unsafe fstat(other.descriptor, &wanted) == 0 else { throw .system }
        // Some file systems refuse any change.
        guard own.st_mode & 0o777 != wanted.st_mode & 0o777 else { return }
        guard fchmod(descriptor, wanted.st_mode & 0o777) == 0 else { throw .system }
    }

    /// Deletes the file, unless it is gone from its path.
    package func remove() {
        if isInPlace { _ = unsafe unlink(path) }
    }

    /// Moves the partial file to another path, in the place of any file there; returns `false` if that is on another file system.
    package func move(elsewhere path: String) throws(FileError) -> Bool {
        guard unsafe Glibc.rename(self.path, path) == 0 else {
            if errno == EXDEV { return false }
            throw .system
        }
        place.withLock { $0 = path }
        return true
    }

    /// Renames the complete file. At the new name there is the previous file or this one, at any time.
    ///
    /// - Parameter replacing: Whether the file may replace another one.
    /// - Returns: `false` if there is another file, and it must not be replaced.
    package func move(to name: String, replacing: Bool) throws(FileError) -> Bool {
        try check()
        // Another file at this path would not be the one that was downloaded.
        guard isInPlace else { throw Self.isGone }
        return try FileOperationHook.watching(.rename(from: path, to: name)) { () throws(FileError) in
            try rename(to: name, replacing: replacing)
        }
    }

    private func rename(to name: String, replacing: Bool) throws(FileError) -> Bool {
        if replacing {
            // The new file gets the permissions of the old one, so that a private file stays private.
            if let mode = FileSystem.mode(of: name), fchmod(descriptor, mode) != 0 { throw .system }
            guard unsafe Glibc.rename(path, name) == 0 else { throw .system }
            return true
        }
        let code = unsafe ccurl_rename_new(path, name)
        if code == 0 { return true }
        if code == EEXIST { return false }
        errno = code
        // File systems without this kind of renaming mostly support links.
        guard code == EINVAL || code == ENOSYS else { throw .system }
        guard unsafe link(path, name) == 0 else {
            if errno == EEXIST { return false }
            throw .system
        }
        _ = unsafe unlink(path)
        return true
    }

    /// The failure of a partial file that is gone from its path.
    package static let isGone = FileError(reason: "its partial file is not there any more")
}
