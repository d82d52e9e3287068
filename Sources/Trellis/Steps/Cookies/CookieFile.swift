import CurlEngine
public import FoundationEssentials

/// Cookies in a file of Netscape's format, which curl and many others read and write.
///
/// ```swift
/// let cookies = CookieFile(path: "cookies.txt")  // need not be there yet
/// await cookies.store(["id=42"], from: "https://example.com/")  // is in the file when this returns
/// ```
///
/// Any number of processes can share a file, each with any number of these: changes are merged into the file as it is, under
/// a lock (`cookies.txt.lock`, which stays), and what others changed is seen with the next request. The file is replaced as a
/// whole (`cookies.txt.new`), so whatever crashes, it is the one before or the one after. A new file can be read by its owner
/// alone.
///
/// Cookies of the session are kept, with 0 as their end, as curl does; ``removeSessionCookies()`` ends the session. The
/// format knows neither `SameSite` nor when a cookie came, and cookies with a tab in them are kept in memory only.
///
/// A file that is there and holds something else is never written to: one whose first line does not say that it is of this
/// format (`# Netscape HTTP Cookie File`), and which has lines that are neither cookies nor comments.
///
/// A file that cannot be read or written fails no request: the cookies are in memory, ``failure`` says what is wrong, and the
/// next change tries again, as does ``flush()``.
public actor CookieFile: CookieStorage {
    /// What is wrong with a file.
    public struct Failure: Error, Sendable, Hashable, CustomStringConvertible {
        /// The file.
        public let path: String
        /// What the system said.
        public let why: String
        /// Both, in words.
        public var description: String { "the cookie file \(path) cannot be used: \(why)" }
    }

    /// Where the file is.
    public nonisolated let path: String
    /// Why the file could not be read or written the last time; `nil` when it could.
    public private(set) var failure: Failure?
    private var store: CookieStore
    private let now: @Sendable () -> Date
    private let contents: CookieFileContents
    /// What is not in the file yet.
    private var changes: [CookieChange] = []
    /// The file that ``store`` comes from.
    private var version: WholeFile.Version?
    /// Counts the times that ``store`` was taken from the file.
    private var generation = 0
    private var saving: Task<Void, Never>?

    /// The cookies in a file. It is read with the first use.
    ///
    /// - Parameters:
    ///   - path: the file; made with the first cookie.
    ///   - limits: how much it keeps.
    ///   - now: tells the time; for tests.
    public init(
        path: String, limits: CookieLimits = CookieLimits(), now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.path = path
        self.now = now
        store = CookieStore(limits: limits)
        contents = CookieFileContents(path: path, limits: limits)
    }

    // MARK: Storage

    /// The cookies to send with a request, in their order.
    public func cookies(for url: CookieURL) async -> [Cookie] {
        await refresh()
        return store.cookies(for: url, at: now())
    }

    /// Stores what the `Set-Cookie` fields of a response say. It is in the file when this returns.
    public func store(_ fields: [String], from url: CookieURL) async {
        guard !fields.isEmpty else { return }
        await refresh()
        await save(store.receive(fields, from: url, at: now()).map(CookieChange.set))
    }

    /// Stores cookies of the caller's; those that have ended are removed.
    public func insert(_ cookies: [Cookie]) async {
        await refresh()
        await save(store.insert(cookies, at: now()).map(CookieChange.set))
    }

    /// Every cookie that has not ended, in the order of the file.
    public var all: [Cookie] {
        get async {
            await refresh()
            store.removeExpired(at: now())
            return store.all
        }
    }

    /// Removes the cookie with the same name, domain and path.
    public func remove(_ cookie: Cookie) async { await change(.remove(cookie)) }

    /// Removes the cookies that end with their session.
    public func removeSessionCookies() async { await change(.removeSessionCookies) }

    /// Removes all cookies.
    public func removeAll() async { await change(.removeAll) }

    /// Writes what could not be written before.
    ///
    /// - Throws: ``Failure`` where the file cannot be read or written.
    public func flush() async throws(Failure) {
        await refresh()
        await save([])
        if let failure { throw failure }
    }

    // MARK: The file

    private func change(_ change: CookieChange) async {
        await refresh()
        change.apply(to: &store, at: now())
        await save([change])
    }

    /// Reads the file if it is another one than the last time.
    private func refresh() async {
        while true {
            let (begun, contents, known, time) = (generation, contents, version, now())
            do throws(FileReader.Failure) {
                let read = try await contents.readIfChanged(since: known, at: time)
                // The file may have been written in the meantime.
                guard begun == generation else { continue }
                if let read { take(read) }
                if changes.isEmpty { failure = nil }
            } catch {
                failure = Failure(path: path, why: error.why)
            }
            return
        }
    }

    private func take(_ read: CookieFileContents.Snapshot) {
        let old = store
        store = read.store
        store.takeMetadata(from: old)
        // What the format cannot hold is in memory alone.
        _ = store.insert(old.all.filter { !NetscapeCookies.canHold($0) }, at: now())
        for change in changes { change.apply(to: &store, at: now()) }
        version = read.version
        generation += 1
    }

    /// Waits until all changes are in the file, or cannot be.
    private func save(_ new: [CookieChange]) async {
        changes += new
        guard !changes.isEmpty else { return }
        // Not the caller's task: when that is cancelled, the change still is to be written.
        let task = saving ?? Task { await drain() }
        saving = task
        await task.value
    }

    private func drain() async {
        while !changes.isEmpty {
            let batch = changes
            do throws(FileReader.Failure) {
                // Someone who holds the lock for long is waited for once.
                let written = try await contents.write(batch, isPatient: failure == nil, at: now())
                changes.removeFirst(batch.count)
                take(written)
                failure = nil
            } catch {
                failure = Failure(path: path, why: error.why)
                // They are in memory too; those to be written later must not fill it.
                changes.removeFirst(max(0, changes.count - 2 * contents.limits.total))
                break
            }
        }
        saving = nil
    }
}
