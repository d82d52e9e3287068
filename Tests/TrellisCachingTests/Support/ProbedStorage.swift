import CurlEngine
import Foundation

@testable import TrellisCaching
@testable import TrellisCore

/// A storage in memory whose bodies are read as a test says.
struct ProbedStorage: MemoryBackedStorage {
    typealias Reader = @Sendable (any CachedBody, Range<Int64>) async throws -> Data

    private struct Body: CachedBody {
        let body: any CachedBody
        let read: Reader

        var length: Int64 { body.length }
        func bytes(in range: Range<Int64>) async throws -> Data { try await read(body, range) }
    }

    let memory = MemoryCacheStorage()
    private let read: Reader

    init(_ read: @escaping Reader) { self.read = read }

    func entries(for key: CacheKey) -> [CacheEntry] {
        memory.entries(for: key).map { entry in
            CacheEntry(id: entry.id, head: entry.head, body: Body(body: entry.body, read: read))
        }
    }
}
