private import CCurl
package import FoundationEssentials
private import Glibc

/// A file that grows until it is whole, and then takes its name. Nobody else writes to it meanwhile: it is locked.
///
/// The lock is the system's (`flock`): it goes with its process, however that ends. Everything here can wait for a disk: use it
/// off the engine thread.
package final class PartialFile: Sendable {
    /// What tells whether somebody has written to the file since then.
    package struct Stamp: Hashable, Sendable {
        /// Bytes.
        package var size: Int64
        /// When it was written to last, in nanoseconds since 1970.
        package var modified: Int64

        package init(size: Int64, modified: Int64) {
            self.size = size
            self.modified = modified
        }
    }

    private let descriptor: Int32
    private let place: Locked<String>
    /// It was never shorter since it was cut last.
    private let extent: Locked<Int64>

    /// Opens or makes the file. `nil`: someone else is writing to it, or it is a file of somebody else.
    ///
    /// - Parameter mode: the permissions of a new file, as far as the process's mask lets them be.
    package static func opened(path: String, mode: UInt32 = 0o666) throws(FileReader.Failure) -> PartialFile? {
        guard !path.utf8.contains(0) else { throw FileReader.Failure(why: "its path holds a NUL") }
        while true {
            let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode)
            guard descriptor >= 0 else {
                if errno == ELOOP { return nil }
                throw .system
            }
            var status = stat(), named = stat()
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, unsafe fstat(descriptor, &status) == 0 else {
                let isHeld = errno == EWOULDBLOCK || errno == EINTR
                let failure = FileReader.Failure.system
                close(descriptor)
                if isHeld { return nil }
                throw failure
            }
            // Whoever had the lock may have given the file its name, or deleted it.
            guard unsafe lstat(path, &named) == 0 else {
                let failure = errno == ENOENT ? nil : FileReader.Failure.system
                close(descriptor)
                if let failure { throw failure }
                continue
            }
            guard named.st_ino == status.st_ino, named.st_dev == status.st_dev else {
                close(descriptor)
                continue
            }
            // In a folder that others can write to it may be a trap.
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

    /// What has become of a file that a process may have left.
    package enum Remains: Hashable, Sendable {
        /// It was there, and is not any more.
        case removed
        /// It is there: somebody writes to it, or it is somebody else's.
        case held
        /// There is none.
        case missing
        /// The system does not say.
        case unknown
    }

    /// Deletes the file at a path, if it is one that nobody writes to any more.
    package static func removeDead(path: String) -> Remains {
        let descriptor = unsafe open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            switch errno {
            case ENOENT: return .missing
            // A symbolic link, a folder, a socket, a file of another user.
            case ELOOP, EISDIR, ENXIO, EACCES, EPERM: return .held
            default: return .unknown
            }
        }
        // Whoever is about to take it has not got the lock yet, and sees that it has gone.
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, isNamed(path, descriptor), unsafe unlink(path) == 0 else {
            return .held
        }
        return .removed
    }

    /// Whether a path leads to an open file that is this user's alone.
    private static func isNamed(_ path: String, _ descriptor: Int32) -> Bool {
        var status = stat(), named = stat()
        return unsafe fstat(descriptor, &status) == 0 && lstat(path, &named) == 0
            && named.st_ino == status.st_ino && named.st_dev == status.st_dev
            && status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid() && status.st_nlink == 1
    }

    /// Where it is.
    package var path: String { place.withLock { $0 } }

    /// Whether it is there still, and nobody has put another file in its place.
    package var isInPlace: Bool { Self.isNamed(path, descriptor) }

    /// What it is like now; `nil` where nobody knows.
    package var stamp: Stamp? {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return nil }
        return Stamp(
            size: Int64(status.st_size),
            modified: Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec))
    }

    /// Its bytes, written or not.
    package var length: Int64 {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// Throws where somebody has cut it: what was written would be zeros.
    package func check() throws(FileReader.Failure) {
        let extent = extent.withLock { $0 }
        guard length >= extent else { throw FileReader.Failure(why: "somebody else has written to its partial file") }
    }

    /// Writes all of the bytes, where they belong.
    package func write(_ data: Data, at offset: Int64) throws(FileReader.Failure) {
        try check()
        try DiskWatch.watching(.write(path: path, offset..<offset + Int64(data.count))) {
            () throws(FileReader.Failure) in
            try fill(data, at: offset)
        }
    }

    private func fill(_ data: Data, at offset: Int64) throws(FileReader.Failure) {
        var written = 0
        while written < data.count {
            let count = unsafe data.withUnsafeBytes { bytes in
                unsafe pwrite(
                    descriptor, bytes.baseAddress.map { unsafe $0 + written }, bytes.count - written,
                    off_t(offset) + off_t(written))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .system }
            written += count
            extent.withLock { $0 = max($0, offset + Int64(written)) }
        }
    }

    /// Bytes from `offset` on; none at the end.
    package func read(atMost count: Int, at offset: Int64) throws(FileReader.Failure) -> Data {
        guard let buffer = unsafe malloc(max(count, 1)) else { throw FileReader.Failure(why: "no memory") }
        var got: Int
        repeat { got = unsafe pread(descriptor, buffer, count, off_t(offset)) } while got < 0 && errno == EINTR
        guard got > 0 else {
            let failure = FileReader.Failure.system
            unsafe free(buffer)
            if got == 0 { return Data() }
            throw failure
        }
        return unsafe Data(bytesNoCopy: buffer, count: got, deallocator: .free)
    }

    /// Cuts it, or makes it longer by bytes that are zero.
    ///
    /// Only where that changes something: ext4 takes any cut for the beginning of a replacement, and then writes all of a file to
    /// the disk before it is closed.
    package func truncate(to length: Int64) throws(FileReader.Failure) {
        if length != self.length, ftruncate(descriptor, off_t(length)) != 0 { throw .system }
        // Also where somebody else has cut it there before.
        extent.withLock { $0 = length }
    }

    /// Waits until all of it is on the disk, with what ``stamp`` tells; `false` where the file system has no means for that.
    package func synchronize() throws(FileReader.Failure) -> Bool { try synchronize(fsync) }

    /// Waits until its bytes are on the disk: those that had been written before the call; `false` where the file system has no means
    /// for that.
    package func synchronizeData() throws(FileReader.Failure) -> Bool { try synchronize(fdatasync) }

    private func synchronize(_ call: (Int32) -> Int32) throws(FileReader.Failure) -> Bool {
        try DiskWatch.watching(.synchronize(path: path)) { () throws(FileReader.Failure) in
            if call(descriptor) == 0 { return true }
            guard errno == EINVAL || errno == ENOSYS || errno == ENOTSUP else { throw .system }
            return false
        }
    }

    /// Deletes it, unless it has gone.
    package func remove() {
        if isInPlace { _ = unsafe unlink(path) }
    }

    /// Puts it elsewhere, where it goes on to be a partial file, in the place of any other; `false` where that is on another file
    /// system.
    package func move(elsewhere path: String) throws(FileReader.Failure) -> Bool {
        guard unsafe rename(self.path, path) == 0 else {
            if errno == EXDEV { return false }
            throw .system
        }
        place.withLock { $0 = path }
        return true
    }

    /// Gives it its name. Whoever looks at the name finds what was there before, or this.
    ///
    /// - Parameter replacing: whether it may take the place of another file.
    /// - Returns: `false`: there is another file.
    package func move(to name: String, replacing: Bool) throws(FileReader.Failure) -> Bool {
        try check()
        // Whatever is there instead is not what was downloaded.
        guard isInPlace else { throw Self.isGone }
        if replacing {
            // What was private stays so.
            if let mode = FilePlaces.mode(of: name), fchmod(descriptor, mode) != 0 { throw .system }
            guard unsafe rename(path, name) == 0 else { throw .system }
            return true
        }
        let code = unsafe ccurl_rename_new(path, name)
        if code == 0 { return true }
        if code == EEXIST { return false }
        errno = code
        // File systems that know no such renaming mostly know links.
        guard code == EINVAL || code == ENOSYS else { throw .system }
        guard unsafe link(path, name) == 0 else {
            if errno == EEXIST { return false }
            throw .system
        }
        _ = unsafe unlink(path)
        return true
    }

    /// What is said where it has gone.
    package static let isGone = FileReader.Failure(why: "its partial file is not there any more")
}
