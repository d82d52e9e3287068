import CurlEngine
import FoundationEssentials
import TrellisCore

/// Responses in memory, bounded in their bytes and their number. The entries that were used least recently are removed first.
public final class MemoryCacheStorage: CacheStorage {
    /// The bytes that an entry takes besides its body and its fields, as an estimate.
    private static let overhead = 512

    private struct State {
        /// The entries of each key, the oldest variant first.
        var entries = LRUList<CacheKey, CacheEntry>()
        var number: UInt64 = 0
        var count = 0
        var size = 0
        /// The number of bytes of the bodies that are being written.
        var sizeInWriters = 0
    }

    /// The largest number of variants of a key. The oldest one is removed first.
    static let maximumVariantCount = 32

    /// The largest number of bytes of all entries together, and of the bodies that are being written. 64 MiB unless given.
    public let maximumSize: Int
    /// The largest number of entries. 10,000 unless given.
    public let maximumCount: Int
    /// The largest number of bytes of one body. An eighth of ``maximumSize`` unless given.
    public let maximumBodySize: Int
    private let state = Locked(State())

    /// Creates an empty storage.
    ///
    /// - Parameters:
    ///   - maximumSize: The largest number of bytes of all entries together; 64 MiB by default.
    ///   - maximumCount: The largest number of entries; 10,000 by default.
    ///   - maximumBodySize: The largest number of bytes of one body; an eighth of `maximumSize` by default.
    public init(maximumSize: Int = 64 << 20, maximumCount: Int = 10_000, maximumBodySize: Int? = nil) {
        self.maximumSize = max(maximumSize, 0)
        self.maximumCount = max(maximumCount, 0)
        self.maximumBodySize = maximumBodySize ?? self.maximumSize / 8
    }

    /// The number of entries, and of their bytes.
    public var usage: CacheUsage { state.withLock { CacheUsage(count: $0.count, size: Int64($0.size)) } }

    /// The keys that have entries.
    public var keys: AsyncThrowingStream<CacheKey, any Error> {
        let keys = state.withLock { $0.entries.keys }
        return AsyncThrowingStream { continuation in
            for key in keys { continuation.yield(key) }
            continuation.finish()
        }
    }

    /// Returns all entries of a key, which counts as their use.
    public func entries(for key: CacheKey) -> [CacheEntry] { state.withLock { $0.entries.use(key) } }

    /// Begins an entry.
    ///
    /// - Throws: ``TooLarge`` if the body is larger than the storage takes.
    public func makeWriter(for key: CacheKey, _ head: CachedHead, length: Int64?) throws -> any CacheWriter {
        if let length, length > maximumBodySize { throw TooLarge() }
        return Writer(for: key, head, in: self)
    }

    /// Replaces the head of an entry, unless the entry has been removed or replaced.
    public func update(_ entry: CacheEntry, for key: CacheKey, to head: CachedHead) {
        let id = entry.id
        let size = size(of: head, entry.body, key)
        state.withLock { state in
            guard Self.remove(key, &state, where: { $0.id == id }) else { return }
            add(CacheEntry(id: id, head: head, body: entry.body, size: size), for: key, to: &state)
        }
    }

    /// Removes an entry, unless the entry has been removed or replaced.
    public func remove(_ entry: CacheEntry, for key: CacheKey) {
        let id = entry.id
        state.withLock { state in _ = Self.remove(key, &state) { $0.id == id } }
    }

    /// Removes all entries of a key.
    public func removeEntries(for key: CacheKey) {
        state.withLock { state in _ = Self.remove(key, &state) { _ in true } }
    }

    /// Removes all entries.
    public func removeAll() {
        state.withLock { state in
            let (number, sizeInWriters) = (state.number, state.sizeInWriters)
            state = State()
            (state.number, state.sizeInWriters) = (number, sizeInWriters)
        }
    }

    // MARK: The state

    /// Adds an entry instead of the one of the same variant.
    private func add(_ entry: CacheEntry, for key: CacheKey, to state: inout State) {
        let isKept = entry.size <= maximumSize && maximumCount > 0
        if isKept, state.entries.add(entry, for: key) {
            state.count += 1
            state.size += entry.size
        } else {
            replace(with: isKept ? entry : nil, variant: entry.variant, key, &state)
        }
        while state.size > maximumSize || state.count > maximumCount, let removed = state.entries.removeOldest() {
            state.count -= 1
            state.size -= removed.size
        }
    }

    /// Replaces the entry of a variant, if there is one; without a new one, the entry is removed.
    private func replace(with entry: CacheEntry?, variant: String, _ key: CacheKey, _ state: inout State) {
        var (count, size) = (0, 0)
        state.entries.useAndChange(key) { entries in
            entries.removeAll { other in
                guard other.variant.hasSameBytes(as: variant) else { return false }
                (count, size) = (count - 1, size - other.size)
                return true
            }
            guard let entry else { return }
            if entries.count >= Self.maximumVariantCount {
                size -= entries.removeFirst().size
                count -= 1
            }
            entries.append(entry)
            (count, size) = (count + 1, size + entry.size)
        }
        state.count += count
        state.size += size
    }

    /// Removes the entries of a key that meet a condition. Returns whether there were any.
    private static func remove(
        _ key: CacheKey, _ state: inout State, where isRemoved: (CacheEntry) -> Bool
    ) -> Bool {
        var (count, size) = (0, 0)
        state.entries.change(key) { entries in
            entries.removeAll { entry in
                guard isRemoved(entry) else { return false }
                (count, size) = (count + 1, size + entry.size)
                return true
            }
        }
        state.count -= count
        state.size -= size
        return count > 0
    }

    private func size(of head: CachedHead, _ body: any CachedBody, _ key: CacheKey) -> Int {
        Int(body.length) + head.size + key.url.utf8.count + key.partition.utf8.count + Self.overhead
    }

    /// Takes room for a part of a body that is being written. Returns `false` if there is none.
    private func reserve(_ count: Int) -> Bool {
        state.withLock { state in
            guard state.sizeInWriters + count <= maximumSize else { return false }
            state.sizeInWriters += count
            return true
        }
    }

    private func free(_ count: Int) { state.withLock { $0.sizeInWriters -= count } }

    private func commit(_ body: Data, for key: CacheKey, head: CachedHead) {
        let body = MemoryBody(data: body)
        let size = size(of: head, body, key)
        state.withLock { state in
            state.number += 1
            add(CacheEntry(number: state.number, head: head, body: body, size: size), for: key, to: &state)
        }
    }
}

extension MemoryCacheStorage {
    /// The error of a body that is larger than the storage takes, or that has no room beside others that are being written.
    public struct TooLarge: CacheRefusal, Sendable {}

    private final class Writer: CacheWriter {
        private let storage: MemoryCacheStorage
        private let key: CacheKey
        private let head: CachedHead
        private let body = Locked(Data())

        init(for key: CacheKey, _ head: CachedHead, in storage: MemoryCacheStorage) {
            (self.storage, self.key, self.head) = (storage, key, head)
        }

        deinit { discard() }

        func write(_ bytes: Data) throws {
            let isTaken = body.withLock { body in
                guard body.count + bytes.count <= storage.maximumBodySize, storage.reserve(bytes.count) else {
                    return false
                }
                body.append(bytes)
                return true
            }
            if !isTaken { throw TooLarge() }
        }

        func commit() { storage.commit(take(), for: key, head: head) }

        func discard() { _ = take() }

        private func take() -> Data {
            let taken = body.withLock { body in
                defer { body = Data() }
                return body
            }
            storage.free(taken.count)
            return taken
        }
    }
}

/// A body in memory.
struct MemoryBody: CachedBody {
    let data: Data

    var length: Int64 { Int64(data.count) }

    func bytes(in range: Range<Int64>) -> Data {
        if range == 0..<length { return data }
        return Data(data[data.startIndex + Int(range.lowerBound)..<data.startIndex + Int(range.upperBound)])
    }
}

extension CachedHead {
    /// The number of bytes of the fields.
    fileprivate var size: Int {
        var size = stored.size
        for field in requestHeaders { size += field.name.rawName.utf8.count + field.value.utf8.count + 32 }
        return size
    }
}
