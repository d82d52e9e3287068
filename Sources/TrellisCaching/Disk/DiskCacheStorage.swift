import CurlEngine
private import Synchronization
import TrellisCore

/// Responses in a folder, which stay there when the process ends, bounded in their bytes and their number.
///
/// ```swift
/// let storage = DiskCacheStorage(directory: "/var/cache/fetcher", maximumSize: 1 << 30)
/// configuration.cache = HTTPCache(storage: storage)
/// // At the end of the process, after the last request:
/// await session.shutdown()
/// await storage.close()
/// ```
///
/// Each entry is a file that only the user of the process may read, with checksums. Several processes may use a folder at the same time. It
/// should be on a local disk, because a lock (`flock`) decides which of them removes old entries. The folder and the one around it must
/// belong to users whom the process trusts. <doc:CacheStorages> has more. The folder is created when it is needed, and again if it is
/// removed.
public final class DiskCacheStorage: CacheStorage {
    /// The error of a body that is larger than the storage takes, or of a head of more than 4 MiB.
    public struct TooLarge: CacheRefusal, Sendable {}

    private enum Ownership {
        /// The storage has not tried to become the owner since it was created or closed.
        case unknown
        case owner(DiskCacheOwner)
        /// Another storage is the owner.
        case guest
    }

    private struct State {
        var ownership = Ownership.unknown
        /// Whether the owner knows all entries.
        var isComplete = false
        /// Whether the background work is under way.
        var isMaintained = false
        /// The number of operations since the storage looked for other processes' work.
        var operations = 0
        /// The number of bytes that were stored while another storage owned the folder and had not seen them.
        var unseenSize: Int64 = 0
    }

    /// The number of operations after which the storage looks for other processes' work.
    private static let period = 64

    /// The path of the folder.
    public let directory: String
    /// The largest number of bytes of all files together. Bodies that are being received, and entries of other processes that the owner has
    /// not seen, come on top. 4 GiB unless given.
    public let maximumSize: Int64
    /// The largest number of entries. 1,000,000 unless given.
    public let maximumCount: Int
    /// The largest number of bytes of one body. Half of ``maximumSize`` unless given.
    public let maximumBodySize: Int64
    private let folder: DiskCacheFolder
    private let state = Locked(State())
    /// Whether the ownership of the folder was decided, to those who must not wait for the opening, which locks the state.
    private let isDecided = Atomic(false)
    /// Is locked during the background work. A value of `Void` would have the address of the mutex: a race to the thread sanitizer.
    private let maintenance = Locked(false)

    /// Creates the storage of a folder. Nothing is read or written before the first use.
    ///
    /// - Parameters:
    ///   - directory: The path of the folder, which is created with permissions for its user alone.
    ///   - maximumSize: The largest number of bytes of all files together; 4 GiB by default. File systems give each file whole blocks,
    ///     mostly of 4 KiB, which are not counted: a million responses of 100 bytes take about 4 GB.
    ///   - maximumCount: The largest number of entries; 1,000,000 by default.
    ///   - maximumBodySize: The largest number of bytes of one body; half of `maximumSize` by default.
    public init(
        directory: some FilePathConvertible, maximumSize: Int64 = 4 << 30, maximumCount: Int = 1_000_000,
        maximumBodySize: Int64? = nil
    ) {
        self.directory = directory.filePath
        self.maximumSize = max(maximumSize, 0)
        self.maximumCount = max(maximumCount, 0)
        self.maximumBodySize = maximumBodySize ?? self.maximumSize / 2
        folder = DiskCacheFolder(path: self.directory)
    }

    deinit {
        let (owner, isComplete) = ownerAndCompleteness
        if let owner, isComplete { BlockingThreadPool.begin(at: folder.root) { owner.save() } }
    }

    /// Creates the folder, if it does not exist, and checks that entries can be stored in it. Without the call, this is done at the first
    /// use, and a folder that cannot be used ends no request: nothing is stored, and ``RequestEvent/Kind/cacheFailed(_:)`` says why.
    ///
    /// ```swift
    /// let storage = DiskCacheStorage(directory: "/var/cache/fetcher")
    /// try await storage.open()
    /// ```
    ///
    /// - Throws: ``FileFailure`` if the folder cannot be used.
    public func open() async throws { try await folder.run { _ = try self.owner() } }

    /// Saves the index of the folder, and gives the ownership to another process. The storage may be used afterwards: the next request of a
    /// session that is still open uses and fills the folder again.
    ///
    /// Without the call, nothing is lost but the order of the last uses, and the next owner reads the complete folder.
    public func close() async {
        await BlockingThreadPool.run(at: folder.root) { [self] in
            maintenance.withLock { _ in
                let (owner, isComplete) = ownerAndCompleteness
                // First, so that an operation whose record comes too late for the saved index finds out.
                forgetState()
                if let owner, isComplete { owner.save() }
            }
        }
    }

    // MARK: Entries

    /// Returns all entries of a key, which counts as their use.
    ///
    /// - Throws: ``FileFailure`` if the folder cannot be used; `CancellationError` in a cancelled task, without waiting for the disk.
    public func entries(for key: CacheKey) async throws -> [CacheEntry] {
        try await folder.run(isRead: true) { try self.read(key) }
    }

    /// Begins an entry.
    ///
    /// - Throws: ``TooLarge`` if the body is larger than the storage takes, ``FileFailure`` if the folder cannot be used.
    public func makeWriter(
        for key: CacheKey, _ head: CachedHead, length: Int64?
    ) async throws -> any CacheWriter {
        if let length, length > maximumBodySize { throw TooLarge() }
        // The head of a stream says whether the response is being stored, long before the first byte is written.
        if !isOpen { try await open() }
        return try CacheFileWriter(folder, CacheFileHead(key, head), maximumLength: maximumBodySize) {
            [self] file, names, size in try commit(file, as: names, size: size)
        }
    }

    /// Replaces the head of an entry, unless the entry has been removed or replaced.
    ///
    /// - Throws: ``FileFailure`` if the folder cannot be used.
    public func update(_ entry: CacheEntry, for key: CacheKey, to head: CachedHead) async throws {
        try await folder.run { try self.replaceHead(of: entry.id, CacheFileHead(key, head)) }
    }

    /// Removes an entry, unless the entry has been removed or replaced.
    ///
    /// - Throws: ``FileFailure`` if the folder cannot be used.
    public func remove(_ entry: CacheEntry, for key: CacheKey) async throws {
        try await folder.run {
            let name = try CacheFileName(key)
            try self.remove(name) { self.folder.slot(of: entry.id, at: name).map { [$0] } ?? [] }
        }
    }

    /// Removes all entries of a key.
    ///
    /// - Throws: ``FileFailure`` if the folder cannot be used.
    public func removeEntries(for key: CacheKey) async throws {
        let changed = Locked<Set<Int>>([])
        try await folder.run {
            let name = try CacheFileName(key)
            try self.folder.removeAll(name, noting: changed) {
                self.currentOwner?.change(name.shard) { index in
                    for slot in 0..<DiskCacheFolder.slotCount { index.remove(name, slot: slot) }
                }
            }
        }
    }

    /// Removes all entries.
    ///
    /// - Throws: ``FileFailure`` if the folder cannot be used.
    public func removeAll() async throws {
        let changed = Locked<Set<Int>>([])
        try await folder.run {
            let owner = self.currentOwner
            var failure: FileError?
            for shard in 0..<DiskCacheFolder.shardCount {
                do throws(FileError) {
                    try self.folder.removeAll(inShard: shard, noting: changed) {
                        owner?.change(shard) { $0 = DiskCacheIndex() }
                    }
                } catch { failure = failure ?? error }
            }
            if let failure { throw failure }
        }
    }

    /// The keys that have entries.
    public var keys: AsyncThrowingStream<CacheKey, any Error> {
        let rest = Locked((shard: 0, keys: [CacheKey]()))
        return AsyncThrowingStream { [folder] in
            while true {
                if let key = rest.withLock({ $0.keys.popLast() }) { return key }
                let shard = rest.withLock { rest in
                    defer { rest.shard += 1 }
                    return rest.shard
                }
                guard shard < DiskCacheFolder.shardCount, !Task.isCancelled else { return nil }
                let keys = await BlockingThreadPool.run(at: folder.root) { folder.keys(inShard: shard) }
                rest.withLock { $0.keys = keys }
            }
        }
    }

    /// The number of entries, and of the bytes of their files.
    ///
    /// - Throws: ``FileFailure`` if the folder cannot be used; `CancellationError` in a cancelled task, without waiting for the disk.
    public var usage: CacheUsage {
        get async throws {
            try await folder.run(isRead: true) {
                let (owner, isComplete) = self.ownerAndCompleteness
                if let owner, isComplete { return owner.usage }
                var usage = CacheUsage(count: 0, size: 0)
                for shard in 0..<DiskCacheFolder.shardCount {
                    let files = self.folder.list(shard: shard)
                    usage.count += files.count
                    usage.size += files.reduce(0) { $0 + $1.file.size }
                }
                return usage
            }
        }
    }

    // MARK: Work on a thread that may wait

    private func read(_ key: CacheKey) throws -> [CacheEntry] {
        let name = try CacheFileName(key)
        let (files, isDamaged) = try folder.files(name, for: key)
        if isDamaged { try? remove(name) { folder.damagedSlots(name, for: key) } }
        // A folder in which nothing can be written can still be read.
        let owner = try? owner()
        if let owner, !isDamaged {
            owner.recordUse(of: files.map(\.size), at: name, isChecked: ownerAndCompleteness.1)
        }
        lookAround(owner)
        return files.map(\.entry)
    }

    private func commit(
        _ file: RandomAccessFile, as names: CacheFileHead, size: Int64
    ) throws(FileError) {
        let name = try CacheFileName(names.key)
        let owner = try owner()
        try folder.withLock(ofShard: name.shard) { () throws(FileError) in
            if owner == nil {
                // With the lock: without it, nothing is stored, and the commit may be tried again.
                try reserveUnseen(size)
                folder.markForeignEntries()
            }
            let slot = try folder.install(file, names, at: name)
            guard let owner else { return }
            let lastUse = owner.nextUse()
            owner.change(name.shard) { index in
                index.insert(.init(name: name, slot: slot, size: size, lastUse: lastUse))
            }
            // The index may have been saved before, at the end of the ownership.
            if currentOwner !== owner { folder.markForeignEntries() }
        }
        lookAround(owner)
    }

    /// - Throws: `FileError` if the owner does not see what this process stores.
    private func reserveUnseen(_ size: Int64) throws(FileError) {
        let unseen = state.withLock { state in
            state.unseenSize += size
            return state.unseenSize
        }
        guard unseen > maximumSize / 8 else { return }
        guard !folder.hasForeignEntries else {
            throw FileError(reason: "the process that owns it does not remove old entries")
        }
        state.withLock { $0.unseenSize = size }
    }

    private func replaceHead(of id: String, _ names: CacheFileHead) throws {
        let name = try CacheFileName(names.key)
        let owner = try? owner()
        let result = try folder.withLock(ofShard: name.shard) { () throws(FileError) in
            Result {
                let changed = try folder.update(id, at: name, to: names)
                for (slot, size) in changed where size > 0 {
                    guard let owner else { break }
                    let lastUse = owner.nextUse()
                    owner.change(name.shard) { index in
                        index.insert(.init(name: name, slot: slot, size: size, lastUse: lastUse))
                    }
                }
                // In the order from the last slot to the first, in which no other of them moves.
                for (slot, size) in changed where size == 0 { try remove(name, slot: slot, owner) }
            }
        }
        try result.get()
    }

    private func remove(_ name: CacheFileName, slots: () -> [Int]) throws(FileError) {
        let owner = currentOwner
        try folder.withLock(ofShard: name.shard) { () throws(FileError) in
            for slot in slots() { try remove(name, slot: slot, owner) }
        }
    }

    private func remove(_ name: CacheFileName, slot: Int, _ owner: DiskCacheOwner?) throws(FileError) {
        let last = try folder.remove(name, slot: slot)
        owner?.recordRemoval(name, slot: slot, last: last ?? slot)
    }

    // MARK: Ownership

    private var ownerAndCompleteness: (DiskCacheOwner?, Bool) {
        state.withLock { state in
            guard case .owner(let owner) = state.ownership else { return (nil, false) }
            return (owner, state.isComplete)
        }
    }

    private var currentOwner: DiskCacheOwner? { ownerAndCompleteness.0 }

    /// Whether this storage owns the folder.
    package var isOwner: Bool { currentOwner != nil }

    /// Whether the folder could be used when its ownership was decided. Any thread may ask.
    var isOpen: Bool { isDecided.load(ordering: .relaxed) }

    /// Returns the owner of the folder if it is this storage, which becomes the owner if there is none.
    private func owner() throws(FileError) -> DiskCacheOwner? {
        let result = state.withLock { state -> Result<DiskCacheOwner?, FileError> in
            switch state.ownership {
            case .owner(let owner): return .success(owner)
            case .guest: return .success(nil)
            case .unknown:
                do throws(FileError) {
                    guard let (owner, isComplete) = try DiskCacheOwner.taken(folder) else {
                        state.ownership = .guest
                        isDecided.store(true, ordering: .relaxed)
                        return .success(nil)
                    }
                    state.ownership = .owner(owner)
                    state.isComplete = isComplete
                    isDecided.store(true, ordering: .relaxed)
                    return .success(owner)
                } catch {
                    isDecided.store(false, ordering: .relaxed)
                    return .failure(error)
                }
            }
        }
        return try result.get()
    }

    /// Returns to the state of a storage that was just created.
    private func forgetState() {
        state.withLock { state in
            state = State()
            isDecided.store(false, ordering: .relaxed)
        }
    }

    /// Begins the background work if there is some.
    private func lookAround(_ owner: DiskCacheOwner?) {
        let (isDue, isComplete) = state.withLock { state in
            state.operations += 1
            guard state.operations >= Self.period else { return (false, state.isComplete) }
            state.operations = 0
            return (true, state.isComplete)
        }
        guard let owner else {
            if isDue { state.withLock { if case .guest = $0.ownership { $0.ownership = .unknown } } }
            return
        }
        let usage = owner.usage
        guard isDue || !isComplete || usage.size > maximumSize || usage.count > maximumCount else { return }
        let begins = state.withLock { state in
            defer { state.isMaintained = true }
            return !state.isMaintained
        }
        guard begins else { return }
        BlockingThreadPool.begin(at: folder.root) { [self] in
            maintain()
            state.withLock { $0.isMaintained = false }
        }
    }

    /// Does the background work, and waits for its end.
    func settle() async { await BlockingThreadPool.run(at: folder.root) { [self] in maintain() } }

    private func maintain() {
        maintenance.withLock { _ in
            let (owner, isComplete) = ownerAndCompleteness
            guard let owner else { return }
            guard owner.isInPlace else { return forgetState() }
            if !isComplete || folder.hasForeignEntries {
                folder.clearForeignMark()
                let isComplete = owner.readFolders()
                state.withLock { $0.isComplete = isComplete }
            }
            owner.removeOldest(maximumSize: maximumSize, maximumCount: maximumCount)
        }
    }
}
