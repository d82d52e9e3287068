private import Glibc

/// Paths of the file system: their kinds, their folders and their deletion. Every function here can wait for a disk.
package enum FileSystem {
    /// The kind of the file at a path.
    package enum FileKind: Hashable, Sendable { case nothing, file, folder, other }

    /// Returns the kind of the file at a path, through symbolic links.
    package static func kind(at path: String) throws(FileError) -> FileKind {
        guard !path.isEmpty else { throw FileError(reason: "its path is empty") }
        // The system would read the path up to the NUL alone.
        guard !path.utf8.contains(0) else { throw FileError(reason: "its path contains a NUL byte") }
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            if errno == ENOENT { return .nothing }
            throw .system
        }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return .file
        case S_IFDIR: return .folder
        default: return .other
        }
    }

    /// Returns the permissions of the regular file at a path, if any.
    package static func mode(of path: String) -> UInt32? {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return status.st_mode & 0o777
    }

    /// Creates a folder and the missing folders that lead to it.
    package static func makeFolder(_ path: String) throws(FileError) { try makeFolder(path, 0o777) }

    /// Creates a folder that only its user may use, and the missing folders that lead to it, which others may use.
    package static func makePrivateFolder(_ path: String) throws(FileError) { try makeFolder(path, 0o700) }

    /// Creates a folder with permissions, and the missing folders that lead to it with the process's default permissions.
    private static func makeFolder(_ path: String, _ permissions: mode_t) throws(FileError) {
        if unsafe mkdir(path, permissions) == 0 { return }
        if errno == ENOENT, let slash = path.lastIndex(ofByte: "/"), slash > path.startIndex {
            try makeFolder(String(path[..<slash]), 0o777)
            if unsafe mkdir(path, permissions) == 0 { return }
        }
        guard errno == EEXIST, try kind(at: path) == .folder else { throw .system }
    }

    /// Renames a file, in the place of any file at the new path.
    ///
    /// - Returns: `false` if there is no such file, or no folder for the new path.
    /// - Throws: The system's reason for another failure.
    package static func rename(_ path: String, to name: String) throws(FileError) -> Bool {
        try FileOperationHook.watching(.rename(from: path, to: name)) { () throws(FileError) in
            if unsafe Glibc.rename(path, name) == 0 { return true }
            return try failIfPresent(path)
        }
    }

    /// Returns the folder of a path.
    package static func folder(of path: String) -> String {
        path.lastIndex(ofByte: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    /// The folder for temporary files.
    package static var temporaryFolder: String {
        guard let value = unsafe getenv("TMPDIR") else { return "/tmp" }
        let path = unsafe String(cString: value)
        return path.isEmpty ? "/tmp" : path
    }

    /// Deletes a file, if there is one and the system allows it: ``delete(_:)`` without its errors.
    ///
    /// - Returns: `true` if a file was deleted.
    @discardableResult
    package static func deleteIfPossible(_ path: String) -> Bool { (try? delete(path)) ?? false }

    /// Deletes a file, if there is one.
    ///
    /// - Returns: `true` if a file was deleted, `false` if there was none.
    /// - Throws: The system's reason if there still is a file.
    @discardableResult
    package static func delete(_ path: String) throws(FileError) -> Bool {
        try FileOperationHook.watching(.remove(path: path)) { () throws(FileError) in
            if unsafe unlink(path) == 0 { return true }
            return try failIfPresent(path)
        }
    }

    /// Returns `false` if the last call of the system has failed because there is no file at a path.
    ///
    /// - Throws: The reason of the last call if there is a file.
    private static func failIfPresent(_ path: String) throws(FileError) -> Bool {
        if errno == ENOENT || errno == ENOTDIR { return false }
        let failure = FileError.system
        // A file system that cannot be written to gives the same reason for a file that does not exist.
        var status = stat()
        if unsafe lstat(path, &status) != 0, errno == ENOENT || errno == ENOTDIR { return false }
        throw failure
    }

    /// Waits until the names in a folder are on the disk; ignores errors, because not every file system supports that.
    package static func synchronize(folder: String) {
        try? FileOperationHook.watching(.synchronizeFolder(path: folder)) { () throws(FileError) in
            let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard descriptor >= 0 else { throw .system }
            defer { close(descriptor) }
            guard fsync(descriptor) == 0 else { throw .system }
        }
    }
}
