private import CCurl
package import FoundationEssentials
private import Glibc

/// A file that grows until it is whole, and then takes its name. Nobody else writes to it meanwhile: it is locked.
///
/// The lock is the system's (`flock`): it goes with its process, however that ends. Everything here can wait for a disk: use it
/// off the engine thread.
package final class PartialFile: Sendable {
    /// Where it is.
    package let path: String
    private let descriptor: Int32

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
            guard unsafe lstat(path, &named) == 0, named.st_ino == status.st_ino, named.st_dev == status.st_dev else {
                close(descriptor)
                continue
            }
            // In a folder that others can write to it may be a trap.
            guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(), status.st_nlink == 1 else {
                close(descriptor)
                return nil
            }
            return PartialFile(path: path, descriptor: descriptor)
        }
    }

    private init(path: String, descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Its bytes, written or not.
    package var length: Int64 {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// Writes all of the bytes, where they belong.
    package func write(_ data: Data, at offset: Int64) throws(FileReader.Failure) {
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
        guard length != self.length else { return }
        guard ftruncate(descriptor, off_t(length)) == 0 else { throw .system }
    }

    /// Waits until all of it is on the disk.
    package func synchronize() throws(FileReader.Failure) {
        guard fsync(descriptor) == 0 else { throw .system }
    }

    /// Deletes it.
    package func remove() { _ = unsafe unlink(path) }

    /// Gives it its name. Whoever looks at the name finds what was there before, or this.
    ///
    /// - Parameter replacing: whether it may take the place of another file.
    /// - Returns: `false`: there is another file.
    package func move(to name: String, replacing: Bool) throws(FileReader.Failure) -> Bool {
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
}
