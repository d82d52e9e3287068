import CurlEngine
public import FoundationEssentials

/// A cookie storage in a file of Netscape's format, which curl and many other programs read and write.
///
/// ```swift
/// let cookies = CookieFile(path: "cookies.txt")  // need not be there yet
/// await cookies.store(["id=42"], from: "https://example.com/")  // is in the file when this returns
/// ```
///
/// Any number of processes can share a file. Changes are merged under a lock (`cookies.txt.lock`, which stays), and changes of others are
/// seen with the next request. The file is replaced as a whole (`cookies.txt.new`), so that a crash leaves the old file or the new one. A
/// new file can be read by its owner alone.
///
/// Session cookies are kept with an expiry of 0, as curl does, until ``removeSessionCookies()``. The format has no `SameSite` and no
/// creation date. Cookies with a tab stay in memory.
///
/// A file that exists and holds something else is never written to. A file that cannot be used fails no request: the cookies are in memory,
/// ``failure`` has the reason, and the next change or ``flush()`` tries again. ``RequestEvent/Kind/cookiesFailed(_:)`` reports the first of
/// several failures.
public actor CookieFile: CookieStorage {
    /// The path of the file.
    public nonisolated let path: String
    /// The reason why the file could not be read or written the last time; `nil` if it could.
    public private(set) var failure: FileFailure? {
        didSet { if (failure == nil) != (oldValue == nil) { newFailure.withLock { $0 = failure } } }
    }
    /// The first failure after the file had worked, or at its first use; `nil` if there is none, or if a request has told it.
    private nonisolated let newFailure = Locked<FileFailure?>(nil)
    /// The cookies in memory.
    private var store: CookieStore
    private let now: @Sendable () -> Date
    private let contents: CookieFileContents
    /// The changes that are not in the file yet.
    private var changes: [CookieChange] = []
    /// The version of the file from which ``store`` was read.
    private var version: WholeFile.Version?
    /// The number of times that ``store`` was taken from the file.
    private var generation = 0
    /// The task that reads the file.
    private var reading: Task<Void, Never>?
    /// The task that writes the changes to the file.
    private var saving: Task<Void, Never>?

    /// Creates a storage of the cookies in a file. The file is read with the first use.
    ///
    /// - Parameters:
    ///   - path: The path of the file, which is created with the first cookie.
    ///   - limits: The limits of the storage.
    ///   - now: Returns the present date; for tests.
    public init(
        path: some FilePathConvertible, limits: CookieLimits = CookieLimits(),
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        let path = path.filePath
        self.path = path
        self.now = now
        store = CookieStore(limits: limits)
        contents = CookieFileContents(path: path, limits: limits.usable)
    }

    // MARK: Storage

    /// Returns the cookies to send with a request, in their order.
    public func cookies(for url: CookieURL) async -> [Cookie] {
        await refresh()
        return store.cookies(for: url, at: now())
    }

    /// Stores the cookies of the `Set-Cookie` fields of a response. They are in the file when this method returns.
    public func store(_ fields: [String], from url: CookieURL) async {
        guard !fields.isEmpty else { return }
        await refresh()
        await save(store.receive(fields, from: url, at: now()).map(CookieChange.set))
    }

    /// Stores cookies of the caller's; cookies that have expired are removed.
    public func insert(_ cookies: [Cookie]) async {
        await refresh()
        await save(store.insert(cookies, at: now()).map(CookieChange.set))
    }

    /// All cookies that have not expired, in the order of the file.
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

    /// Writes the changes that could not be written before.
    ///
    /// - Throws: ``FileFailure`` if the file cannot be read or written.
    public func flush() async throws(FileFailure) {
        await refresh()
        await save([])
        if let failure { throw failure }
    }

    // MARK: The file

    /// Returns the first of several failures to the first request that asks; `nil` to others, and while the file works.
    nonisolated func takeNewFailure() -> FileFailure? {
        newFailure.withLock { failure in
            defer { failure = nil }
            return failure
        }
    }

    private func change(_ change: CookieChange) async {
        await refresh()
        change.apply(to: &store, at: now())
        await save([change])
    }

    /// Reads the file if its version is not the one that was read last. In a cancelled task, the cookies stay as they are in memory.
    ///
    /// There is one read at a time, also if several calls wait for a disk that hangs. A read that is under way may have missed a change
    /// from before this call: the next one has it.
    private func refresh() async {
        if let reading { await BlockingThreadPool.waitUnlessCancelled(for: reading) }
        guard !Task.isCancelled else { return }
        let task = reading ?? Task { await read() }
        reading = task
        await BlockingThreadPool.waitUnlessCancelled(for: task)
    }

    private func read() async {
        defer { reading = nil }
        while true {
            let (begun, contents, known, time) = (generation, contents, version, now())
            do throws(FileError) {
                let read = try await contents.readIfChanged(since: known, at: time)
                // The file may have been written in the meantime.
                guard begun == generation else { continue }
                if let read { take(read) }
                if changes.isEmpty { failure = nil }
            } catch {
                failure = FileFailure(path: path, reason: error.reason)
            }
            return
        }
    }

    /// Replaces the cookies in memory with the file's, and applies the changes that are not in the file yet.
    private func take(_ read: CookieFileContents.Snapshot) {
        let old = store
        store = read.store
        store.takeMetadata(from: old)
        // Cookies that the format cannot hold are in memory alone.
        _ = store.insert(old.all.filter { !NetscapeCookies.canHold($0) }, at: now())
        for change in changes { change.apply(to: &store, at: now()) }
        version = read.version
        generation += 1
    }

    /// Adds changes, and waits until all of them are in the file or cannot be written.
    private func save(_ new: [CookieChange]) async {
        changes += new
        guard !changes.isEmpty else { return }
        // The changes are written in a separate task: they must be written even if the caller's task is cancelled.
        let task = saving ?? Task { await drain() }
        saving = task
        await BlockingThreadPool.waitUnlessCancelled(for: task)
    }

    /// Writes the changes to the file, until none is left or writing fails.
    private func drain() async {
        while !changes.isEmpty {
            let batch = changes
            do throws(FileError) {
                // A lock that another process holds for long is waited for once.
                let written = try await contents.write(batch, isPatient: failure == nil, at: now())
                changes.removeFirst(batch.count)
                take(written)
                failure = nil
            } catch {
                failure = FileFailure(path: path, reason: error.reason)
                // The changes are in memory too; the list of changes to be written later must not grow without bound.
                changes.removeFirst(max(0, changes.count - 2 * contents.limits.total))
                break
            }
        }
        saving = nil
    }
}
