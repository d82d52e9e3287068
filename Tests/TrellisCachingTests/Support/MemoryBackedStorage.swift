import Foundation

@testable import TrellisCaching
@testable import TrellisCore

/// A storage in memory that does some things in its own way, and all others as a `MemoryCacheStorage` does.
protocol MemoryBackedStorage: CacheStorage {
    /// The storage that does all others.
    var memory: MemoryCacheStorage { get }
}

extension MemoryBackedStorage {
    func entries(for key: CacheKey) -> [CacheEntry] { memory.entries(for: key) }
    func makeWriter(for key: CacheKey, _ head: CachedHead, length: Int64?) throws -> any CacheWriter {
        try memory.makeWriter(for: key, head, length: length)
    }
    func update(_ entry: CacheEntry, for key: CacheKey, to head: CachedHead) {
        memory.update(entry, for: key, to: head)
    }
    func remove(_ entry: CacheEntry, for key: CacheKey) { memory.remove(entry, for: key) }
    func removeEntries(for key: CacheKey) { memory.removeEntries(for: key) }
    func removeAll() { memory.removeAll() }
    var keys: AsyncThrowingStream<CacheKey, any Error> { memory.keys }
    var usage: CacheUsage { memory.usage }
}

/// A writer that calls closures before and after its entry becomes visible.
struct ProbedWriter: CacheWriter {
    let writer: any CacheWriter
    var willCommit: @Sendable () async throws -> Void = {}
    var didCommit: @Sendable () async throws -> Void = {}

    func write(_ bytes: Data) async throws { try await writer.write(bytes) }
    func commit() async throws {
        try await willCommit()
        try await writer.commit()
        try await didCommit()
    }
    func discard() async { await writer.discard() }
}

/// A body that cannot be read.
struct UnreadableBody: CachedBody {
    let length: Int64

    init(of entry: CacheEntry) { length = entry.body.length }

    func bytes(in range: Range<Int64>) async throws -> Data { throw CacheFile.Damaged() }
}
