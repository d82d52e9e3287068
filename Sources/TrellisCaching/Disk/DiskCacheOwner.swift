import CurlEngine
import FoundationEssentials
import TrellisCore

/// The bookkeeping of the process that owns a ``DiskCacheStorage``'s folder: it alone removes entries that were not used for long.
///
/// The lock of the folder decides which process owns it, so that another becomes the owner when the process ends, for any reason. The index
/// is kept in memory, and saved when the storage is closed. It is advisory: without a saved one, or when the folders have changed since,
/// they are read again in the background. Records that are about other files than the key's are made again when the key is used.
final class DiskCacheOwner: Sendable {
    private let folder: DiskCacheFolder
    private let lock: FileLock
    private let shards: [Locked<DiskCacheIndex>]
    private let totals = Locked(CacheUsage(count: 0, size: 0))
    private let uses = Locked(RecencyClock())

    /// The first word of a saved index.
    private static let mark: UInt64 = 0x0A78_6469_6C65_7254

    /// Takes the ownership; `nil` if another storage has it.
    ///
    /// - Returns: The owner, and whether the folders have to be read.
    static func taken(_ folder: DiskCacheFolder) throws(FileError) -> (
        owner: DiskCacheOwner, isComplete: Bool
    )? {
        try folder.makeFolders()
        guard let lock = try FileLock.taken(path: folder.ownerLockPath) else { return nil }
        let owner = DiskCacheOwner(folder, lock)
        let isComplete = owner.load()
        return (owner, isComplete && !folder.hasForeignEntries)
    }

    private init(_ folder: DiskCacheFolder, _ lock: consuming FileLock) {
        self.folder = folder
        self.lock = lock
        shards = (0..<DiskCacheFolder.shardCount).map { _ in Locked(DiskCacheIndex()) }
    }

    /// Whether the lock's file is still the one at its path. Otherwise the folder was removed, and another process may own
    /// the new one.
    var isInPlace: Bool { lock.isInPlace(path: folder.ownerLockPath) }

    var usage: CacheUsage { totals.withLock { $0 } }

    /// Returns the instant of a use, which is later than every other use's.
    func nextUse() -> UInt64 {
        let now = UInt64(max(Date().timeIntervalSince1970, 0) * 1e9)
        return uses.withLock { $0.next(at: now) }
    }

    // MARK: Records

    /// Changes the records of a shard.
    func change<Result>(_ shard: Int, _ body: (inout DiskCacheIndex) -> Result) -> Result {
        shards[shard].withLock { index in
            let (count, size) = (index.count, index.size)
            let result = body(&index)
            let (addedCount, addedSize) = (index.count - count, index.size - size)
            if addedCount != 0 || addedSize != 0 {
                totals.withLock { totals in
                    totals.count += addedCount
                    totals.size += addedSize
                }
            }
            return result
        }
    }

    /// Records the use of the files of a key.
    ///
    /// - Parameters:
    ///   - sizes: The sizes of the files in the order of their slots, as they were read without the shard's lock.
    ///   - isChecked: Whether the records are made again if they are not about these files.
    func recordUse(of sizes: [Int64], at name: CacheFileName, isChecked: Bool) {
        let now = nextUse()
        let isRight = change(name.shard) { index in
            for slot in sizes.indices { index.use(name, slot: slot, at: now) }
            guard index.record(name, slot: sizes.count) == nil else { return false }
            return sizes.indices.allSatisfy { index.record(name, slot: $0)?.size == sizes[$0] }
        }
        guard isChecked, !isRight else { return }
        // While another task or process holds the lock, the records may be about its files. They are compared again at the next use.
        try? folder.withLock(ofShard: name.shard) { () throws(FileError) in recordFiles(name, lastUse: now) }
    }

    /// Records the files of a key as they are. Call this with the shard's lock.
    private func recordFiles(_ name: CacheFileName, lastUse: UInt64) {
        let sizes = folder.sizes(name)
        change(name.shard) { index in
            for slot in 0..<DiskCacheFolder.slotCount {
                if slot < sizes.count {
                    index.insert(.init(name: name, slot: slot, size: sizes[slot], lastUse: lastUse))
                } else {
                    index.remove(name, slot: slot)
                }
            }
        }
    }

    /// Records that a file was removed, and that the file in the last slot has taken its place.
    func recordRemoval(_ name: CacheFileName, slot: Int, last: Int) {
        change(name.shard) { index in
            index.remove(name, slot: slot)
            guard last != slot, var moved = index.remove(name, slot: last) else { return }
            moved.slot = slot
            index.insert(moved)
        }
    }

    // MARK: Reading the folders

    /// Reads the folders, and records the files in them. Returns `false` if another task or process held the lock of one.
    func readFolders() -> Bool {
        folder.removeAbandonedFiles()
        var isComplete = true
        for shard in 0..<DiskCacheFolder.shardCount {
            // A process that adds the first file creates the folder before it records the file.
            let isEmpty = change(shard) { index in
                guard !folder.hasFolder(ofShard: shard) else { return false }
                index = DiskCacheIndex()
                return true
            }
            if isEmpty { continue }
            let isRead: Void? = try? folder.withLock(ofShard: shard) { () throws(FileError) in
                let files = folder.list(shard: shard)
                change(shard) { index in
                    let old = index
                    index = DiskCacheIndex()
                    for (name, slot, file) in files {
                        let lastUse = old.record(name, slot: slot)?.lastUse ?? UInt64(max(file.modified, 0))
                        uses.withLock { $0.pass(lastUse) }
                        index.insert(.init(name: name, slot: slot, size: file.size, lastUse: lastUse))
                    }
                }
            }
            if isRead == nil { isComplete = false }
        }
        return isComplete
    }

    // MARK: Removing the oldest

    /// Removes the entries that were not used for the longest time, until the storage is a tenth below its limits.
    func removeOldest(maximumSize: Int64, maximumCount: Int) {
        let usage = usage
        guard usage.size > maximumSize || usage.count > maximumCount else { return }
        let target = CacheUsage(count: maximumCount - maximumCount / 10, size: maximumSize - maximumSize / 10)
        var uses: [(lastUse: UInt64, size: Int64)] = []
        for shard in shards { uses += shard.withLock { $0.records.map { ($0.lastUse, $0.size) } } }
        uses.sort { $0.lastUse < $1.lastUse }
        var rest = usage
        var end: UInt64 = 0
        for use in uses where rest.size > target.size || rest.count > target.count {
            end = use.lastUse
            rest.size -= use.size
            rest.count -= 1
        }
        // Entries of the last instant are removed as far as that is needed.
        for shard in shards.indices { remove(inShard: shard, until: target) { $0 < end } }
        for shard in shards.indices { remove(inShard: shard, until: target) { $0 == end } }
    }

    private func remove(inShard shard: Int, until target: CacheUsage, where isOld: (UInt64) -> Bool) {
        // The last slots first, so that no other file moves.
        let old = shards[shard].withLock { $0.records.filter { isOld($0.lastUse) } }.sorted { $0.slot > $1.slot }
        guard !old.isEmpty else { return }
        try? folder.withLock(ofShard: shard) { () throws(FileError) in
            for record in old {
                let usage = usage
                guard usage.size > target.size || usage.count > target.count else { return }
                do throws(FileError) {
                    let last = try folder.remove(record.name, slot: record.slot)
                    recordRemoval(record.name, slot: record.slot, last: last ?? record.slot)
                } catch {
                    // The file is still there, and so is its record.
                    continue
                }
            }
        }
    }

    // MARK: The saved index

    /// Saves the index.
    func save() {
        guard isInPlace else { return }
        var words: [UInt64] = [Self.mark, 0]
        for shard in shards { words += shard.withLock { $0.encoded } }
        words[1] = UInt64(words.count)
        words.append(WordFile.checksum(words[...]))
        try? WordFile.write(words, path: folder.indexPath)
    }

    /// Reads and removes the saved index: without it, the next owner reads the folders, as it must after this one has ended early. Returns
    /// whether the index has all files.
    private func load() -> Bool {
        let saved = WholeFile.modificationTime(path: folder.indexPath)
        guard let words = WordFile.read(path: folder.indexPath) else { return false }
        FileSystem.deleteIfPossible(folder.indexPath)
        guard words.count >= 3, words[0] == Self.mark, words[1] == UInt64(words.count - 1),
            words.count % DiskCacheIndex.wordCount == 3, WordFile.checksum(words.dropLast()) == words.last
        else { return false }
        // A cache may have a million entries: the tables are made with their final sizes, and their locks are taken once.
        let starts = stride(from: 2, to: words.count - 1, by: DiskCacheIndex.wordCount)
        var counts = [Int](repeating: 0, count: DiskCacheFolder.shardCount)
        for start in starts { counts[CacheFileName(high: words[start], low: 0).shard] += 1 }
        var indices = counts.map { DiskCacheIndex(minimumCount: $0) }
        var latest: UInt64 = 0
        for start in starts {
            let record = DiskCacheIndex.record(words[start..<start + DiskCacheIndex.wordCount])
            indices[record.name.shard].insert(record)
            latest = max(latest, record.lastUse)
        }
        uses.withLock { $0.pass(latest) }
        for (shard, index) in zip(shards, indices) { shard.withLock { $0 = index } }
        totals.withLock { totals in
            totals.count = indices.reduce(0) { $0 + $1.count }
            totals.size = indices.reduce(0) { $0 + $1.size }
        }
        // Files may have been removed, or brought back from a copy, while no process had the folder open.
        return saved.map { !folder.hasChanged(since: $0) } ?? false
    }

    /// The number of bytes of memory that the records take.
    var memorySize: Int { shards.reduce(0) { $0 + $1.withLock { $0.memorySize } } }
}

extension DiskCacheFolder {
    /// The path of the lock that the owner of the folder holds.
    var ownerLockPath: String { root + "/owner.lock" }
    /// The path of the saved index.
    var indexPath: String { root + "/index" }
    private var foreignMarkPath: String { root + "/foreign" }

    /// Whether other processes than the owner have added entries that the owner has not seen.
    var hasForeignEntries: Bool { WholeFile.version(path: foreignMarkPath) != nil }

    /// Records that there are entries that the owner has not seen.
    func markForeignEntries() { try? WholeFile.create(path: foreignMarkPath) }

    /// Records that the owner is about to read the folders.
    func clearForeignMark() { FileSystem.deleteIfPossible(foreignMarkPath) }
}
