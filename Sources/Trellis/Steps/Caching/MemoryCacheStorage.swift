import CurlEngine
import FoundationEssentials

/// Responses in memory, bounded in their bytes and their number. The entries that were used least recently are removed first.
public final class MemoryCacheStorage: CacheStorage {
    /// The bytes that an entry takes besides its body and its fields, as an estimate.
    private static let overhead = 512

    /// The key and the variant of an entry.
    private struct Name: Hashable {
        let key: String
        let variant: String
    }

    private struct Slot {
        var entry: CacheEntry
        var size: Int
    }

    private struct State {
        var slots: [Name: Slot] = [:]
        /// The variants of each key.
        var variants: [String: [String]] = [:]
        /// The names in the order of their last use, with numbers that are no longer valid among them.
        var uses = FIFO<(name: Name, number: UInt64)>()
        /// The number of the last use of each entry.
        var lastUse: [Name: UInt64] = [:]
        var number: UInt64 = 0
        var size = 0
    }

    /// The largest number of bytes of all entries together.
    public let maximumSize: Int
    /// The largest number of entries.
    public let maximumCount: Int
    /// The largest number of bytes of one body.
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

    /// The number of entries, and the number of their bytes.
    public var usage: (count: Int, size: Int) { state.withLock { ($0.slots.count, $0.size) } }

    /// The number of recorded uses.
    var useCount: Int { state.withLock { $0.uses.count } }

    /// Returns all entries of a key, which counts as their use.
    public func entries(for key: String) -> [CacheEntry] {
        state.withLock { state in
            (state.variants[key] ?? []).compactMap { variant in
                let name = Name(key: key, variant: variant)
                guard let slot = state.slots[name] else { return nil }
                Self.use(name, &state)
                return slot.entry
            }
        }
    }

    /// Begins an entry.
    ///
    /// - Throws: ``TooLarge`` if the body is larger than the storage takes.
    public func makeWriter(for key: String, _ head: CachedHead, length: Int64?) throws -> any CacheWriter {
        if let length, length > maximumBodySize { throw TooLarge() }
        return Writer(self, Name(key: key, variant: head.variant), head)
    }

    /// Replaces the head of an entry, unless the entry has been removed or replaced.
    public func update(_ entry: CacheEntry, for key: String, to head: CachedHead) {
        state.withLock { state in
            let old = Name(key: key, variant: entry.head.variant)
            guard let slot = state.slots[old], slot.entry.id == entry.id else { return }
            Self.remove(old, &state)
            add(CacheEntry(id: entry.id, head: head, body: entry.body), Name(key: key, variant: head.variant), &state)
        }
    }

    /// Removes all entries of a key.
    public func removeEntries(for key: String) {
        state.withLock { state in
            for variant in state.variants[key] ?? [] { Self.remove(Name(key: key, variant: variant), &state) }
        }
    }

    /// Removes all entries.
    public func removeAll() {
        state.withLock { state in
            let number = state.number
            state = State()
            state.number = number
        }
    }

    // MARK: The state

    private func add(_ entry: CacheEntry, _ name: Name, _ state: inout State) {
        Self.remove(name, &state)
        let size = Int(entry.body.length) + entry.head.size + name.key.utf8.count + Self.overhead
        guard size <= maximumSize, maximumCount > 0 else { return }
        state.slots[name] = Slot(entry: entry, size: size)
        state.variants[name.key, default: []].append(name.variant)
        state.size += size
        Self.use(name, &state)
        while state.size > maximumSize || state.slots.count > maximumCount { Self.removeOldest(&state) }
    }

    private static func use(_ name: Name, _ state: inout State) {
        state.number += 1
        state.lastUse[name] = state.number
        state.uses.append((name, state.number))
        // At least as many uses are over as there are entries, so that the cost of a use is constant.
        if state.uses.count > 2 * state.slots.count + 64 {
            let last = state.lastUse
            state.uses.removeAll { last[$0.name] != $0.number }
        }
    }

    private static func removeOldest(_ state: inout State) {
        while let use = state.uses.popFirst() {
            if state.lastUse[use.name] == use.number { return remove(use.name, &state) }
        }
    }

    private static func remove(_ name: Name, _ state: inout State) {
        guard let slot = state.slots.removeValue(forKey: name) else { return }
        state.lastUse[name] = nil
        state.size -= slot.size
        state.variants[name.key]?.removeAll { $0 == name.variant }
        if state.variants[name.key]?.isEmpty == true { state.variants[name.key] = nil }
    }

    private func commit(_ body: Data, _ name: Name, _ head: CachedHead) {
        state.withLock { state in
            state.number += 1
            add(CacheEntry(id: "\(state.number)", head: head, body: MemoryBody(data: body)), name, &state)
        }
    }
}

extension MemoryCacheStorage {
    /// The error of a body that is larger than the storage takes.
    public struct TooLarge: Error, Sendable {}

    private final class Writer: CacheWriter {
        private let storage: MemoryCacheStorage
        private let name: Name
        private let head: CachedHead
        private let body = Locked(Data())

        init(_ storage: MemoryCacheStorage, _ name: Name, _ head: CachedHead) {
            (self.storage, self.name, self.head) = (storage, name, head)
        }

        func write(_ bytes: Data) throws {
            try body.withLock { body in
                guard body.count + bytes.count <= storage.maximumBodySize else {
                    body = Data()
                    throw TooLarge()
                }
                body.append(bytes)
            }
        }

        func commit() { storage.commit(body.withLock { $0 }, name, head) }

        func discard() { body.withLock { $0 = Data() } }
    }
}

/// A body in memory.
struct MemoryBody: CachedBody {
    let data: Data

    var length: Int64 { Int64(data.count) }

    func bytes(in range: Range<Int64>) -> Data {
        if range == 0..<length { return data }
        return data[data.startIndex + Int(range.lowerBound)..<data.startIndex + Int(range.upperBound)]
    }
}

extension CachedHead {
    /// The number of bytes of the fields.
    fileprivate var size: Int {
        (headers + requestHeaders).reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 32 }
    }
}
