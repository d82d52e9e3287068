private import Glibc

/// What is where in the file system. Everything here can wait for a disk.
package enum FilePlaces {
    /// What a path leads to.
    package enum Thing: Hashable, Sendable { case nothing, file, folder, other }

    /// What is at a path, through symbolic links.
    package static func thing(at path: String) throws(FileReader.Failure) -> Thing {
        guard !path.isEmpty else { throw FileReader.Failure(why: "its path is empty") }
        // The system would take the part before it for the whole path.
        guard !path.utf8.contains(0) else { throw FileReader.Failure(why: "its path holds a NUL") }
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

    /// The permissions of the file that a path leads to; `nil` where there is none.
    package static func mode(of path: String) -> UInt32? {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return status.st_mode & 0o777
    }

    /// Makes a folder and those that lead to it, as far as they are missing.
    package static func makeFolder(_ path: String) throws(FileReader.Failure) {
        if unsafe mkdir(path, 0o777) == 0 { return }
        if errno == ENOENT, let slash = path.lastIndex(ofByte: "/"), slash > path.startIndex {
            try makeFolder(String(path[..<slash]))
            if unsafe mkdir(path, 0o777) == 0 { return }
        }
        guard errno == EEXIST, try thing(at: path) == .folder else { throw .system }
    }

    /// The folder that a path leads into.
    package static func folder(of path: String) -> String {
        path.lastIndex(ofByte: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    /// The folder for temporary files.
    package static var temporaryFolder: String {
        guard let value = unsafe getenv("TMPDIR") else { return "/tmp" }
        let path = unsafe String(cString: value)
        return path.isEmpty ? "/tmp" : path
    }

    /// Deletes a file, if there is one.
    ///
    /// - Returns: Whether there was one.
    @discardableResult
    package static func remove(_ path: String) -> Bool {
        let isRemoved = try? DiskWatch.watching(.remove(path: path)) { () throws(FileReader.Failure) in
            unsafe unlink(path) == 0
        }
        return isRemoved ?? false
    }

    /// The names in a folder are on the disk too; not every file system can say so.
    package static func synchronize(folder: String) {
        try? DiskWatch.watching(.synchronizeFolder(path: folder)) { () throws(FileReader.Failure) in
            let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard descriptor >= 0 else { throw .system }
            defer { close(descriptor) }
            guard fsync(descriptor) == 0 else { throw .system }
        }
    }
}
