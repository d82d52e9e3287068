import CurlEngine
import TrellisCore

/// The sizes and the last uses of the files in one folder of a ``DiskCacheStorage``: a hash table with open addressing, because a
/// dictionary takes twice the memory.
struct DiskCacheIndex: Sendable {
    /// A file.
    struct Record: Sendable {
        var name: CacheFileName
        var slot: Int
        var size: Int64
        /// The last use, in nanoseconds since 1970.
        var lastUse: UInt64
    }

    /// The words of a record.
    static let wordCount = 4

    /// The buckets. An empty one has zeros. The words of a bucket: two for the name, size and slot, and the last use.
    private var words: [UInt64] = []
    private(set) var count = 0
    /// The number of bytes of all files.
    private(set) var size: Int64 = 0

    private var capacity: Int { words.count / Self.wordCount }

    /// The number of bytes that the table takes: 43 to 86 for each file, as three of four to three of eight buckets are taken.
    var memorySize: Int { words.count * MemoryLayout<UInt64>.size }

    init() {}

    /// Creates an empty index with room for a number of files.
    init(minimumCount: Int) { while 4 * minimumCount > 3 * capacity { grow() } }

    /// The records.
    var records: [Record] {
        stride(from: 0, to: words.count, by: Self.wordCount).filter { words[$0 + 3] != 0 }.map { record(at: $0) }
    }

    /// The words of the records.
    var encoded: [UInt64] {
        var result: [UInt64] = []
        result.reserveCapacity(count * Self.wordCount)
        for start in stride(from: 0, to: words.count, by: Self.wordCount) where words[start + 3] != 0 {
            result += words[start..<start + Self.wordCount]
        }
        return result
    }

    /// Returns the record of words.
    static func record(_ words: ArraySlice<UInt64>) -> Record {
        let start = words.startIndex
        return Record(
            name: CacheFileName(high: words[start], low: words[start + 1]), slot: Int(words[start + 2] & 31),
            size: Int64(words[start + 2] >> 5), lastUse: words[start + 3])
    }

    private func record(at start: Int) -> Record { Self.record(words[start..<start + Self.wordCount]) }

    /// Returns the record of a file; `nil` if there is none.
    func record(_ name: CacheFileName, slot: Int) -> Record? { find(name, slot).map { record(at: $0) } }

    /// Adds or replaces a record.
    mutating func insert(_ record: Record) {
        remove(record.name, slot: record.slot)
        if 4 * (count + 1) > 3 * capacity { grow() }
        place(record)
        count += 1
        size += record.size
    }

    /// Records a use.
    mutating func use(_ name: CacheFileName, slot: Int, at time: UInt64) {
        if let start = find(name, slot) { words[start + 3] = max(time, 1) }
    }

    /// Removes a record. Returns it.
    @discardableResult
    mutating func remove(_ name: CacheFileName, slot: Int) -> Record? {
        guard let start = find(name, slot) else { return nil }
        let removed = record(at: start)
        count -= 1
        size -= removed.size
        clear(start)
        // The records after it move, so that a search does not end at the empty bucket.
        var next = following(start)
        while words[next + 3] != 0 {
            let record = record(at: next)
            clear(next)
            place(record)
            next = following(next)
        }
        return removed
    }

    private mutating func clear(_ start: Int) {
        for index in start..<start + Self.wordCount { words[index] = 0 }
    }

    private func following(_ start: Int) -> Int {
        let next = start + Self.wordCount
        return next == words.count ? 0 : next
    }

    private mutating func place(_ record: Record) {
        var start = bucket(record.name, record.slot)
        while words[start + 3] != 0 { start = following(start) }
        words[start] = record.name.high
        words[start + 1] = record.name.low
        words[start + 2] = UInt64(max(record.size, 0)) << 5 | UInt64(record.slot & 31)
        words[start + 3] = max(record.lastUse, 1)
    }

    private func bucket(_ name: CacheFileName, _ slot: Int) -> Int {
        Int((name.low &+ UInt64(slot) &* 0x9E37_79B9_7F4A_7C15) % UInt64(capacity)) * Self.wordCount
    }

    private func find(_ name: CacheFileName, _ slot: Int) -> Int? {
        guard capacity > 0 else { return nil }
        var start = bucket(name, slot)
        while words[start + 3] != 0 {
            if words[start] == name.high, words[start + 1] == name.low, words[start + 2] & 31 == UInt64(slot) {
                return start
            }
            start = following(start)
        }
        return nil
    }

    private mutating func grow() {
        let old = words
        words = [UInt64](repeating: 0, count: max(capacity * 2, 16) * Self.wordCount)
        for start in stride(from: 0, to: old.count, by: Self.wordCount) where old[start + 3] != 0 {
            place(Self.record(old[start..<start + Self.wordCount]))
        }
    }
}
