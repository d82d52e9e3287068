import CurlEngine
import Foundation

@testable import Trellis

/// A storage in memory whose bodies are read as a test says, and which counts the bytes that are written.
struct ProbedStorage: CacheStorage {
    typealias Reader = @Sendable (any CachedBody, Range<Int64>) async throws -> Data

    private struct Body: CachedBody {
        let body: any CachedBody
        let read: Reader

        var length: Int64 { body.length }
        func bytes(in range: Range<Int64>) async throws -> Data { try await read(body, range) }
    }

    private struct Writer: CacheWriter {
        let writer: any CacheWriter
        let written: Locked<Int>

        func write(_ bytes: Data) async throws {
            written.withLock { $0 += bytes.count }
            try await writer.write(bytes)
        }
        func commit() async throws { try await writer.commit() }
        func discard() async { await writer.discard() }
    }

    private let memory = MemoryCacheStorage()
    private let written = Locked(0)
    private let read: Reader

    init(_ read: @escaping Reader = { try await $0.bytes(in: $1) }) { self.read = read }

    /// The number of bytes that were written, also of entries that were dropped.
    var writtenCount: Int { written.withLock { $0 } }

    func entries(for key: CacheKey) -> [CacheEntry] {
        memory.entries(for: key).map { entry in
            CacheEntry(id: entry.id, head: entry.head, body: Body(body: entry.body, read: read))
        }
    }
    func makeWriter(for key: CacheKey, _ head: CachedHead, length: Int64?) throws -> any CacheWriter {
        Writer(writer: try memory.makeWriter(for: key, head, length: length), written: written)
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
