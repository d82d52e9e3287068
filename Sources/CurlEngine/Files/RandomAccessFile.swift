private import CCurl
package import FoundationEssentials
private import Glibc

/// A regular file that is read and written at any offset. Every method can wait for a disk: use it off the engine thread. The last
/// reference may be released on any thread.
package final class RandomAccessFile: Sendable {
    /// The path at which the file was opened.
    package let path: String
    /// The size in bytes when the file was opened.
    package let initialSize: Int64
    private let descriptor: Int32

    private init(path: String, _ descriptor: Int32, _ status: stat) {
        (self.path, self.descriptor) = (path, descriptor)
        initialSize = Int64(status.st_size)
    }

    deinit {
        // If the file has no name any more, the system frees its blocks now, which takes a while for a large one.
        BlockingThreadPool.runOrBegin(at: FileSystem.folder(of: path)) { [path, descriptor] in
            FileOperationHook.watching(always: .close(path: path)) { close(descriptor) }
        }
    }

    /// Opens a regular file of this user; `nil` if there is none at the path. Symbolic links are not followed.
    package static func opened(path: String, forWriting: Bool = false) throws(FileError) -> RandomAccessFile? {
        try FileOperationHook.watching(.open(path: path)) { () throws(FileError) -> RandomAccessFile? in
            try openFile(path, isWritten: forWriting)
        }
    }

    private static func openFile(_ path: String, isWritten: Bool) throws(FileError) -> RandomAccessFile? {
        let flags = (isWritten ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
        let descriptor = unsafe open(path, flags)
        guard descriptor >= 0 else {
            if errno == ENOENT || errno == ENOTDIR || errno == ELOOP { return nil }
            throw .system
        }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid()
        else {
            close(descriptor)
            return nil
        }
        return RandomAccessFile(path: path, descriptor, status)
    }

    /// Creates a file that only its user may read, and locks it, so that other processes see that it is being written; `nil` if the
    /// folder does not exist.
    ///
    /// - Throws: The system's reason, also if there is a file at the path; ``isRemoved`` if another process has taken the new file for an
    ///   abandoned one.
    package static func created(path: String) throws(FileError) -> RandomAccessFile? {
        try FileOperationHook.watching(.open(path: path)) { () throws(FileError) -> RandomAccessFile? in
            try createFile(path)
        }
    }

    private static func createFile(_ path: String) throws(FileError) -> RandomAccessFile? {
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw .system
        }
        var status = stat()
        do throws(FileError) {
            try FileOperationHook.watching(.lock(path: path)) { () throws(FileError) -> Void in
                guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                    throw errno == EWOULDBLOCK ? isRemoved : FileError.system
                }
            }
            guard unsafe fstat(descriptor, &status) == 0 else { throw FileError.system }
            // Before the file was locked, another process may have locked and deleted it.
            guard status.st_nlink > 0 else { throw isRemoved }
        } catch {
            close(descriptor)
            _ = unsafe unlink(path)
            throw error
        }
        return RandomAccessFile(path: path, descriptor, status)
    }

    /// The failure of a new file that ``removeAbandoned(path:)`` has deleted, or is about to delete, because it was not locked yet.
    package static let isRemoved = FileError(reason: "another process has deleted the new file")

    /// Deletes a file that ``created(path:)`` created, unless it is still being written.
    package static func removeAbandoned(path: String) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { _ = unsafe unlink(path) }
    }

    /// Returns the bytes of a range, in one buffer.
    ///
    /// - Throws: The system's reason, also if the file ends before the range does.
    package func bytes(in range: Range<Int64>) throws(FileError) -> Data {
        guard !range.isEmpty else { return Data() }
        return try FileOperationHook.watching(.read(path: path, range)) { () throws(FileError) -> Data in
            try readBytes(range)
        }
    }

    private func readBytes(_ range: Range<Int64>) throws(FileError) -> Data {
        guard range.lowerBound >= 0, let buffer = unsafe malloc(range.count) else {
            throw FileError(reason: "out of memory")
        }
        var count = 0
        while count < range.count {
            let got = unsafe pread(
                descriptor, buffer + count, range.count - count, off_t(range.lowerBound) + off_t(count))
            if got < 0, errno == EINTR { continue }
            guard got > 0 else {
                let failure = got == 0 ? FileError.shrunk : .system
                unsafe free(buffer)
                throw failure
            }
            count += got
        }
        return unsafe Data(bytesNoCopy: buffer, count: count, deallocator: .free)
    }

    /// Writes all of the bytes at their offset.
    package func write(_ data: Data, at offset: Int64) throws(FileError) {
        try FileOperationHook.watching(.write(path: path, offset..<offset + Int64(data.count))) {
            () throws(FileError) in
            try WholeWrite.perform(data, to: descriptor, at: offset)
        }
    }

    /// Renames the file, in the place of any file at the new path. Returns `false` if the new folder does not exist.
    package func rename(to name: String) throws(FileError) -> Bool {
        try FileOperationHook.watching(.rename(from: path, to: name)) { () throws(FileError) in
            guard unsafe Glibc.rename(path, name) == 0 else {
                if errno == ENOENT { return false }
                throw .system
            }
            return true
        }
    }
}

/// The files in a folder.
package enum FolderContents {
    /// A regular file in a folder.
    package struct File: Sendable, Hashable {
        /// The name.
        package let name: String
        /// The length in bytes.
        package let size: Int64
        /// The modification time, in nanoseconds since 1970.
        package let modified: Int64
    }

    /// Returns the regular files of a folder; none if the folder cannot be read.
    package static func files(in folder: String) -> [File] { (try? list(folder)) ?? [] }

    /// Returns the regular files of a folder; none if there is no folder.
    ///
    /// - Throws: The system's reason if the folder cannot be read.
    package static func list(_ folder: String) throws(FileError) -> [File] {
        try FileOperationHook.watching(.list(path: folder)) { () throws(FileError) -> [File] in try readAll(folder) }
    }

    private static func readAll(_ folder: String) throws(FileError) -> [File] {
        guard let stream = unsafe opendir(folder) else {
            if errno == ENOENT || errno == ENOTDIR { return [] }
            throw .system
        }
        defer { unsafe closedir(stream) }
        let descriptor = unsafe dirfd(stream)
        var files: [File] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            var status = stat()
            guard unsafe fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
                status.st_mode & S_IFMT == S_IFREG
            else { continue }
            let modified = Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
            files.append(File(name: name, size: Int64(status.st_size), modified: modified))
        }
        return files
    }
}
