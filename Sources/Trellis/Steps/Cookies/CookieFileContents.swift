import CurlEngine
import FoundationEssentials

/// One change to a file of cookies.
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

/// Reads and writes a file of cookies, on a thread that may wait for a disk.
struct CookieFileContents: Sendable {
    /// The cookies of a file.
    struct Snapshot: Sendable {
        var store: CookieStore
        var data = Data()
        var version: WholeFile.Version?
    }

    /// Larger files are not read: 3,000 cookies of the largest size are 16 MB.
    private static let maximumSize = 64 << 20

    let path: String
    let limits: CookieLimits

    /// `nil` where it is the version that is known.
    func readIfChanged(
        since version: WholeFile.Version?, at now: Date
    ) async throws(FileReader.Failure) -> Snapshot? {
        try await WaitingThread.trying { () throws(FileReader.Failure) in
            let current = WholeFile.version(path: path)
            if current == version, current != nil { return nil }
            try WholeFile.check(path: path)
            return current == version ? nil : try read(path, at: now)
        }
    }

    private func read(_ path: String, at now: Date) throws(FileReader.Failure) -> Snapshot {
        var snapshot = Snapshot(store: CookieStore(limits: limits))
        guard let file = try WholeFile.read(path: path, limit: Self.maximumSize) else { return snapshot }
        let text = NetscapeCookies(file.data, at: now)
        // Somebody's notes must not become cookies because of a mistake in a path.
        guard text.isCookieFile else {
            throw FileReader.Failure(why: "it is not a file of cookies, and stays as it is")
        }
        _ = snapshot.store.insert(text.cookies, at: now)
        snapshot.data = file.data
        snapshot.version = file.version
        return snapshot
    }

    /// Merges changes into the file as it is now, and returns what it holds then.
    ///
    /// - Parameter isPatient: The lock is waited for, about five seconds.
    func write(_ changes: [CookieChange], isPatient: Bool, at now: Date) async throws(FileReader.Failure) -> Snapshot {
        for attempt in 0..<(isPatient ? 250 : 1) {
            if attempt > 0 {
                // Not all at the same time.
                let pause = Int.random(in: 1...(min(2 * attempt, 40)))
                try? await Task.sleep(for: .milliseconds(pause))
            }
            let written = try await WaitingThread.trying { () throws(FileReader.Failure) in
                try writeUnlessLocked(changes, at: now)
            }
            if let written { return written }
        }
        throw FileReader.Failure(why: "another process holds its lock, \(path).lock")
    }

    /// `nil`: somebody else has the lock.
    private func writeUnlessLocked(_ changes: [CookieChange], at now: Date) throws(FileReader.Failure) -> Snapshot? {
        // Before there is a lock beside what is no file.
        try WholeFile.check(path: path)
        // A symbolic link goes on to be one.
        let target = WholeFile.target(of: path)
        guard let lock = try FileLock.taken(path: target + ".lock") else { return nil }
        return try lock.whileHeld { () throws(FileReader.Failure) in
            var snapshot = try read(target, at: now)
            for change in changes { change.apply(to: &snapshot.store, at: now) }
            let data = NetscapeCookies(cookies: snapshot.store.all).data
            // Others read a file again that was replaced.
            if data != snapshot.data { snapshot.version = try WholeFile.replace(path: target, with: data) }
            return snapshot
        }
    }
}
