import CurlEngine
import Foundation

@testable import TrellisCore

/// A storage in memory whose bodies are read as a test says, and which counts the bytes that are written.
struct ProbedStorage: MemoryBackedStorage {
    typealias Reader = @Sendable (any CachedBody, Range<Int64>) async throws -> Data

    private struct Body: CachedBody {
        let body: any CachedBody
        let read: Reader

        var length: Int64 { body.length }
        func bytes(in range: Range<Int64>) async throws -> Data { try await read(body, range) }
    }

    let memory = MemoryCacheStorage()
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
        ProbedWriter(
            writer: try memory.makeWriter(for: key, head, length: length),
            willWrite: { [written] bytes in written.withLock { $0 += bytes.count } })
    }
}
