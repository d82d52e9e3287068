private import Glibc

/// An advisory lock on a file, held until the value is destroyed.
///
/// The lock is the system's (`flock`), so the system releases it when the process ends, for any reason. Two locks in one process
/// exclude each other too.
package struct FileLock: ~Copyable, Sendable {
    private let descriptor: Int32

    /// Takes the lock if it is free, and creates the file if there is none. Returns `nil` if another lock is held.
    package static func taken(path: String) throws(FileError) -> FileLock? {
        let descriptor = try FileOperationHook.watching(.lock(path: path)) { () throws(FileError) -> Int32? in
            try lockedFile(path)
        }
        guard let descriptor else { return nil }
        return FileLock(descriptor: descriptor)
    }

    /// Returns the descriptor of a file that is locked; `nil` if another lock is held.
    private static func lockedFile(_ path: String) throws(FileError) -> Int32? {
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .system }
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return descriptor }
        let isHeld = errno == EWOULDBLOCK || errno == EINTR
        let failure = FileError.system
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
        _ body: () throws(FileError) -> Result
    ) throws(FileError) -> Result { try body() }
}

extension FileLock {
    /// Performs work that takes the lock of a file, and performs it again while another process has the lock.
    ///
    /// - Parameters:
    ///   - path: The path of the file; the lock's path has the ending `.lock`.
    ///   - isPatient: Whether the lock is waited for, about five seconds. Otherwise, the work is performed once.
    ///   - work: The work, which runs on a thread that may wait for a disk. It returns `nil` if another process has the lock.
    /// - Throws: The failure of the work, or of a lock that was not free in time.
    package static func trying<Value: Sendable>(
        for path: String, isPatient: Bool, _ work: @escaping @Sendable () throws(FileError) -> Value?
    ) async throws(FileError) -> Value {
        for attempt in 0..<(isPatient ? 250 : 1) {
            if attempt > 0 {
                // The pause is random, so that the waiting processes do not all try at the same time.
                let pause = Int.random(in: 1...(min(2 * attempt, 40)))
                try? await Task.sleep(for: .milliseconds(pause))
            }
            if let value = try await BlockingThreadPool.trying(at: FileSystem.folder(of: path), work) { return value }
        }
        throw FileError(reason: "another process holds its lock, \(path).lock")
    }
}
