import CurlEngine
import FoundationEssentials

/// A single change to a file of cookies.
enum CookieChange: Sendable {
    case set(Cookie), remove(Cookie), removeSessionCookies, removeAll

    func apply(to store: inout CookieStore, at now: Date) {
        switch self {
        case .set(let cookie): _ = store.insert([cookie], at: now)
        case .remove(let cookie): _ = store.remove(cookie)
        case .removeSessionCookies: store.removeAll { !$0.isPersistent }
        case .removeAll: store.removeAll { _ in true }
        }
    }
}

/// The access to a file of cookies, which reads and writes on a thread that may wait for a disk.
struct CookieFileContents: Sendable {
    /// The cookies of a file, with the bytes and the version of the file from which the cookies were read.
    struct Snapshot: Sendable {
        var store: CookieStore
        var data = Data()
        var version: WholeFile.Version?
    }

    /// The largest size of a file that is read, in bytes: 3,000 cookies of the largest size are 16 MB.
    private static let maximumSize = 64 << 20

    let path: String
    let limits: CookieLimits

    /// Reads the file; returns `nil` if its version is the one that is known.
    func readIfChanged(
        since version: WholeFile.Version?, at now: Date
    ) async throws(FileError) -> Snapshot? {
        try await BlockingThreadPool.trying(at: FileSystem.folder(of: path)) { () throws(FileError) in
            let current = WholeFile.version(path: path)
            if current == version, current != nil { return nil }
            try WholeFile.check(path: path)
            return current == version ? nil : try read(path, at: now)
        }
    }

    private func read(_ path: String, at now: Date) throws(FileError) -> Snapshot {
        var snapshot = Snapshot(store: CookieStore(limits: limits))
        guard let file = try WholeFile.read(path: path, limit: Self.maximumSize) else { return snapshot }
        let text = NetscapeCookies(file.data, at: now)
        // A file of another kind must not be overwritten with cookies because of a mistake in a path.
        guard text.isCookieFile else {
            throw FileError(reason: "it is not a file of cookies, and stays as it is")
        }
        _ = snapshot.store.insert(text.cookies, at: now)
        snapshot.data = file.data
        snapshot.version = file.version
        return snapshot
    }

    /// Merges changes into the present contents of the file, and returns the result.
    ///
    /// - Parameter isPatient: Whether the lock is waited for, about five seconds.
    func write(_ changes: [CookieChange], isPatient: Bool, at now: Date) async throws(FileError) -> Snapshot {
        try await FileLock.trying(for: path, isPatient: isPatient) { () throws(FileError) in
            try writeUnlessLocked(changes, at: now)
        }
    }

    /// Merges changes into the file; returns `nil` if another process has the lock.
    private func writeUnlessLocked(_ changes: [CookieChange], at now: Date) throws(FileError) -> Snapshot? {
        // Checked first, so that no lock is created beside a path that is not a regular file.
        try WholeFile.check(path: path)
        // The target is replaced, so that a symbolic link stays a link.
        let target = WholeFile.target(of: path)
        guard let lock = try FileLock.taken(path: target + ".lock") else { return nil }
        return try lock.whileHeld { () throws(FileError) in
            var snapshot = try read(target, at: now)
            for change in changes { change.apply(to: &snapshot.store, at: now) }
            let data = NetscapeCookies(cookies: snapshot.store.all).data
            // An unchanged file is not replaced, because other processes read a replaced file again.
            if data != snapshot.data { snapshot.version = try WholeFile.replace(path: target, with: data) }
            return snapshot
        }
    }
}
