private import Glibc

/// An advisory lock on a file, held until the value is destroyed.
///
/// The lock is the system's (`flock`), so the system releases it when the process ends, for any reason. Two locks in one process
/// exclude each other too.
package struct FileLock: ~Copyable, Sendable {
    private let descriptor: Int32

    /// Takes the lock if it is free, and creates the file if there is none. Returns `nil` if another lock is held.
    package static func taken(path: String) throws(FileReader.Failure) -> FileLock? {
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .system }
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return FileLock(descriptor: descriptor) }
        let isHeld = errno == EWOULDBLOCK || errno == EINTR
        let failure = FileReader.Failure.system
        close(descriptor)
        if isHeld { return nil }
        throw failure
    }

    /// Returns whether the lock's file is still the one at a path.
    package borrowing func isInPlace(path: String) -> Bool {
        var held = stat(), named = stat()
        return unsafe fstat(descriptor, &held) == 0 && lstat(path, &named) == 0 && held.st_ino == named.st_ino
            && held.st_dev == named.st_dev
    }

    private init(descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Calls `body`, and keeps the lock until it returns.
    package borrowing func whileHeld<Result>(
        _ body: () throws(FileReader.Failure) -> Result
    ) throws(FileReader.Failure) -> Result { try body() }
}

extension FileReader.Failure {
    /// The failure of the last system call, from `errno`.
    static var system: FileReader.Failure { FileReader.Failure(why: unsafe String(cString: strerror(errno))) }
}
