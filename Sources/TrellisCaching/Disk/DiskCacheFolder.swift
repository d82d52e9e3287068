import CurlEngine
import FoundationEssentials
import TrellisCore

/// The name of the files of a key: the first 128 bits of the key's SHA-256.
struct CacheFileName: Hashable, Sendable {
    let high, low: UInt64

    /// The number of the folder that the files are in, from 0 to 255.
    var shard: Int { Int(high >> 56) }

    init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

    /// - Throws: `FileError` if the process has no library that computes the digest.
    init(_ key: CacheKey) throws(FileError) {
        guard let digest = MessageDigest(.sha256) else { throw Self.isUnavailable }
        digest.update(Array("\(key.url.utf8.count):\(key.url)\(key.partition)".utf8))
        guard let bytes = digest.finishBytes() else { throw Self.isUnavailable }
        high = bytes[0..<8].reduce(0) { $0 << 8 | UInt64($1) }
        low = bytes[8..<16].reduce(0) { $0 << 8 | UInt64($1) }
    }

    private static let isUnavailable = FileError(reason: "there is no OpenSSL that computes SHA-256")

    /// Returns the name of the file in a slot.
    func text(slot: Int) -> String { "\(Self.digits(high))\(Self.digits(low))-\(slot)" }

    /// Reads the name of a file.
    static func parse(_ text: String) -> (name: CacheFileName, slot: Int)? {
        let bytes = Array(text.utf8)
        guard bytes.count == 34 || bytes.count == 35, bytes[32] == UInt8(ascii: "-"),
            let high = UInt64(String(decoding: bytes[0..<16], as: UTF8.self), radix: 16),
            let low = UInt64(String(decoding: bytes[16..<32], as: UTF8.self), radix: 16),
            let slot = Int(String(decoding: bytes[33...], as: UTF8.self)), 0..<DiskCacheFolder.slotCount ~= slot
        else { return nil }
        let name = CacheFileName(high: high, low: low)
        return name.text(slot: slot) == text ? (name, slot) : nil
    }

    private static func digits(_ word: UInt64) -> String {
        let digits = String(word, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}

/// The files of a ``DiskCacheStorage``. Every method can wait for a disk.
///
/// The entries of a key are in the slots 0, 1, 2 and so on, without a gap. Files are added, moved and removed with the lock of their
/// folder, and read without it.
struct DiskCacheFolder: Sendable {
    /// The number of files in a slot's folder and of slots for a key: the largest number of variants.
    static let slotCount = 32
    /// The number of folders with entries.
    static let shardCount = 256
    /// The number of attempts to take a lock, which take about two seconds. Locks are held while some files are renamed.
    private static let attemptCount = 100
    /// The largest number of attempts to create a file for an entry.
    static let creationCount = 8
    private static let isLocked = FileError(reason: "another process holds the lock of a folder")

    /// The folder of the storage.
    let path: String
    /// The folder of this version's files.
    var root: String { "\(path)/entries-\(CacheFileFormat.version)" }
    private var temporary: String { root + "/new" }

    /// Returns the folder of a shard.
    func shardPath(_ shard: Int) -> String {
        let digits = String(shard, radix: 16)
        return "\(root)/\(digits.utf8.count == 1 ? "0" + digits : digits)"
    }

    /// Returns whether a shard has a folder, or may get one, because its lock exists. Both are created with its first file.
    func hasFolder(ofShard shard: Int) -> Bool { exists(shardPath(shard)) || exists(shardPath(shard) + ".lock") }

    private func filePath(_ name: CacheFileName, _ slot: Int) -> String {
        "\(shardPath(name.shard))/\(name.text(slot: slot))"
    }

    /// Runs `body` on a thread that may wait for a disk, and again while another task or process holds a lock that it needs.
    ///
    /// - Parameter isRead: Whether `body` changes nothing that a later operation depends on, so that a cancelled task need not
    ///   wait for its end.
    /// - Throws: ``FileFailure`` with the reason of the system, or another error of `body`.
    func run<Value: Sendable>(
        isRead: Bool = false, _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        var attempt = 0
        while true {
            do {
                if isRead { return try await BlockingThreadPool.tryingUnlessCancelled(at: root, body) }
                return try await BlockingThreadPool.trying(at: root) { () throws(any Error) in try body() }
            } catch let failure as FileError {
                guard failure == Self.isLocked, attempt < Self.attemptCount else { throw attributed(failure) }
                attempt += 1
                // The pause is random, so that the waiting tasks do not all try at the same time.
                try? await Task.sleep(for: .milliseconds(Int.random(in: 1...min(2 * attempt, 40))))
            }
        }
    }

    /// Returns an error that names the folder, if the reason of the system does not.
    func attributed(_ error: any Error) -> any Error {
        guard let failure = error as? FileError else { return error }
        return FileFailure(path: path, reason: failure.reason)
    }

    // MARK: Reading

    /// Returns the files of a key in the order of their slots, and whether one of them is damaged.
    func files(_ name: CacheFileName, for key: CacheKey) throws -> (files: [CacheFile], isDamaged: Bool) {
        var files: [CacheFile] = []
        var isDamaged = false
        for slot in 0..<Self.slotCount {
            do {
                guard let file = try CacheFile.opened(path: filePath(name, slot)) else { break }
                // Another key with the same beginning of its digest.
                if file.names.key.hasSameBytes(as: key) { files.append(file) } else { isDamaged = true }
            } catch is CacheFile.Damaged {
                isDamaged = true
            }
        }
        return (files, isDamaged)
    }

    /// Returns the sizes of the files of a key in the order of their slots.
    func sizes(_ name: CacheFileName) -> [Int64] {
        (0..<usedSlots(name)).map { WholeFile.size(path: filePath(name, $0)) }
    }

    /// Returns whether a file was added to a shard or removed from one at an instant or later.
    ///
    /// - Parameter instant: The instant in nanoseconds since 1970. Several changes may have the same instant.
    func hasChanged(since instant: Int64) -> Bool {
        (0..<Self.shardCount).contains { shard in
            WholeFile.modificationTime(path: shardPath(shard)).map { $0 >= instant } ?? false
        }
    }

    /// Returns the number of slots that are taken, up to the first that is free.
    private func usedSlots(_ name: CacheFileName) -> Int {
        (0..<Self.slotCount).first { !exists(filePath(name, $0)) } ?? Self.slotCount
    }

    private func exists(_ path: String) -> Bool { WholeFile.version(path: path) != nil }

    // MARK: Writing

    /// Calls `body` with the lock of a shard.
    ///
    /// - Throws: ``isLocked`` if another task or process holds the lock; the errors of `body`.
    func withLock<Result>(
        ofShard shard: Int, _ body: () throws(FileError) -> Result
    ) throws(FileError) -> Result {
        let path = shardPath(shard) + ".lock"
        var lock: FileLock?
        do throws(FileError) { lock = try FileLock.taken(path: path) } catch {
            guard !exists(root) else { throw error }
            try makeFolders()
            lock = try FileLock.taken(path: path)
        }
        guard let lock else { throw Self.isLocked }
        return try lock.whileHeld(body)
    }

    /// Creates the folders that are missing.
    func makeFolders() throws(FileError) {
        try FileSystem.makePrivateFolder(path)
        try FileSystem.makePrivateFolder(root)
        try FileSystem.makePrivateFolder(temporary)
    }

    /// Creates a file for an entry that is not complete, under another name if the owner of the folder takes it for an abandoned one.
    func makeTemporaryFile() throws(FileError) -> RandomAccessFile {
        for _ in 1..<Self.creationCount {
            do throws(FileError) { return try makeNewFile() } catch {
                guard error == RandomAccessFile.isRemoved else { throw error }
            }
        }
        return try makeNewFile()
    }

    private func makeNewFile() throws(FileError) -> RandomAccessFile {
        let name = "\(temporary)/\(ProcessNumber.current)-\(String(UInt64.random(in: 0...(.max)), radix: 16))"
        if let file = try RandomAccessFile.created(path: name) { return file }
        try makeFolders()
        guard let file = try RandomAccessFile.created(path: name) else {
            throw FileError(reason: "its folder is removed by another process")
        }
        return file
    }

    /// Deletes the incomplete files of processes that have ended.
    func removeAbandonedFiles() {
        for file in FolderContents.files(in: temporary) {
            RandomAccessFile.removeAbandoned(path: "\(temporary)/\(file.name)")
        }
    }

    /// Moves a complete file to the slot of its variant. Returns the slot. Call this with the shard's lock.
    func install(
        _ file: RandomAccessFile, _ names: CacheFileHead, at name: CacheFileName
    ) throws(FileError) -> Int {
        var slot = 0
        var oldest: (slot: Int, time: CacheTime)?
        search: while slot < Self.slotCount {
            let existing: CacheFile?
            do { existing = try CacheFile.opened(path: filePath(name, slot)) } catch is CacheFile.Damaged {
                break search
            } catch let failure as FileError { throw failure } catch { break search }
            guard let existing, existing.names.key.hasSameBytes(as: names.key),
                !existing.names.variant.hasSameBytes(as: names.variant)
            else { break search }
            let time = existing.names.head.stored.responseTime
            if oldest.map({ time < $0.time }) ?? true { oldest = (slot, time) }
            slot += 1
        }
        if slot == Self.slotCount { slot = oldest?.slot ?? 0 }
        if try file.rename(to: filePath(name, slot)) { return slot }
        try FileSystem.makePrivateFolder(shardPath(name.shard))
        guard try file.rename(to: filePath(name, slot)) else {
            throw FileError(reason: "its folder is removed by another process")
        }
        return slot
    }

    /// Replaces the head of a file, unless the file is gone, and returns its slot and the file's size. Call this with the shard's lock.
    func update(
        _ id: String, at name: CacheFileName, to names: CacheFileHead
    ) throws -> [(slot: Int, size: Int64)] {
        var changed: [(slot: Int, size: Int64)] = []
        for slot in (0..<usedSlots(name)).reversed() {
            let path = filePath(name, slot)
            guard let file = try? CacheFile.opened(path: path), file.names.key.hasSameBytes(as: names.key) else {
                continue
            }
            if file.id == id {
                try replaceHead(of: file, at: path, with: names)
                changed.append((slot, WholeFile.size(path: path)))
            } else if file.names.variant.hasSameBytes(as: names.variant) {
                // The validation has changed the variant to one that was stored before.
                changed.append((slot, 0))
            }
        }
        return changed.contains { $0.size > 0 } ? changed : []
    }

    private func replaceHead(of file: CacheFile, at path: String, with names: CacheFileHead) throws {
        let head = names.encoded
        let prologue = file.prologue
        guard head.count > prologue.capacity else {
            guard let opened = try RandomAccessFile.opened(path: path, forWriting: true) else { return }
            let place = CacheFileFormat.place(head, revision: file.revision + 1, number: prologue.number)
            try opened.write(place, at: Int64(prologue.placeStart(1 - file.place)))
            return
        }
        try rewrite(file, at: path, head)
    }

    /// Writes a file with room for a larger head, in the place of another.
    private func rewrite(_ file: CacheFile, at path: String, _ head: Data) throws {
        guard let old = try RandomAccessFile.opened(path: path) else { return }
        var prologue = try CacheFileFormat.Prologue.suitable(for: head)
        // The checksums of the body depend on the number.
        prologue.number = file.prologue.number
        let new = try makeTemporaryFile()
        do {
            try new.write(prologue.start(with: head, revision: file.revision + 1), at: 0)
            var (from, to) = (file.prologue.bodyStart, prologue.bodyStart)
            while from < file.size {
                let piece = try old.bytes(in: from..<min(from + 1 << 20, file.size))
                try new.write(piece, at: to)
                (from, to) = (from + Int64(piece.count), to + Int64(piece.count))
            }
            _ = try new.rename(to: path)
        } catch {
            FileSystem.deleteIfPossible(new.path)
            throw error
        }
    }

    // MARK: Removing

    /// Removes the file in a slot, and moves the file in the last slot there. Returns the last slot; `nil` if there was no file. Call this
    /// with the shard's lock.
    func remove(_ name: CacheFileName, slot: Int) throws(FileError) -> Int? {
        let last = usedSlots(name) - 1
        guard slot <= last else { return nil }
        if slot == last { return try FileSystem.delete(filePath(name, slot)) ? last : nil }
        return try FileSystem.rename(filePath(name, last), to: filePath(name, slot)) ? last : nil
    }

    /// Returns the slot of the file that has a number; `nil` if there is none.
    func slot(of id: String, at name: CacheFileName) -> Int? {
        (0..<usedSlots(name)).first { (try? CacheFile.opened(path: filePath(name, $0)))??.id == id }
    }

    /// Returns the slots of the files that cannot be read, or are about another key, the last first.
    func damagedSlots(_ name: CacheFileName, for key: CacheKey) -> [Int] {
        (0..<usedSlots(name)).reversed().filter { slot in
            do {
                guard let file = try CacheFile.opened(path: filePath(name, slot)) else { return true }
                return !file.names.key.hasSameBytes(as: key)
            } catch { return error is CacheFile.Damaged }
        }
    }

    /// Removes the files of all slots, those after a gap too, as ``remove(inShard:noting:_:paths:)`` does.
    func removeAll(_ name: CacheFileName, noting changed: Locked<Set<Int>>, _ record: () -> Void) throws(FileError) {
        let paths = (0..<Self.slotCount).reversed().map { filePath(name, $0) }
        try remove(inShard: name.shard, noting: changed, record) { () throws(FileError) in paths }
    }

    /// Removes all files of a shard, as ``remove(inShard:noting:_:paths:)`` does.
    func removeAll(inShard shard: Int, noting changed: Locked<Set<Int>>, _ record: () -> Void) throws(FileError) {
        let path = shardPath(shard)
        try remove(inShard: shard, noting: changed, record) { () throws(FileError) in
            try FolderContents.list(path).map { "\(path)/\($0.name)" }
        }
    }

    /// Removes files without the lock of their shard, because what was invalidated must not be used, and again with it: another process
    /// that has the lock may be about to put a file with a larger head in the place of one that was removed.
    ///
    /// - Parameters:
    ///   - changed: The shards with files that were removed without the lock alone, also by an attempt before this one.
    ///   - record: Records that the files were removed.
    ///   - paths: Returns the paths of the files.
    /// - Throws: The first failure, after all other files have been removed. After ``isLocked``, the removal is to be tried again.
    private func remove(
        inShard shard: Int, noting changed: Locked<Set<Int>>, _ record: () -> Void,
        paths: () throws(FileError) -> [String]
    ) throws(FileError) {
        let isChanged = try Self.delete(paths())
        record()
        if isChanged { changed.withLock { _ = $0.insert(shard) } }
        guard changed.withLock({ $0.contains(shard) }) else { return }
        try withLock(ofShard: shard) { () throws(FileError) in
            _ = try Self.delete(paths())
            record()
        }
        changed.withLock { _ = $0.remove(shard) }
    }

    /// Deletes files. Returns whether there was one.
    private static func delete(_ paths: [String]) throws(FileError) -> Bool {
        var failure: FileError?
        var isDeleted = false
        for path in paths {
            do throws(FileError) {
                if try FileSystem.delete(path) { isDeleted = true }
            } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
        return isDeleted
    }

    // MARK: Listing

    /// Returns the files of a shard whose names are entries' names.
    func list(shard: Int) -> [(name: CacheFileName, slot: Int, file: FolderContents.File)] {
        FolderContents.files(in: shardPath(shard)).compactMap { file in
            CacheFileName.parse(file.name).map { ($0.name, $0.slot, file) }
        }
    }

    /// Returns the keys of a shard, also if some of their files are damaged.
    func keys(inShard shard: Int) -> [CacheKey] {
        var keys: [CacheFileName: CacheKey] = [:]
        for (name, slot, _) in list(shard: shard).sorted(by: { $0.slot < $1.slot }) where keys[name] == nil {
            guard let file = try? CacheFile.opened(path: filePath(name, slot)) else { continue }
            keys[name] = file.names.key
        }
        return Array(keys.values)
    }
}

extension CacheKey {
    /// Returns whether the bytes are the same: `==` treats canonically equivalent texts as equal.
    func hasSameBytes(as other: CacheKey) -> Bool {
        url.hasSameBytes(as: other.url) && partition.hasSameBytes(as: other.partition)
    }
}
