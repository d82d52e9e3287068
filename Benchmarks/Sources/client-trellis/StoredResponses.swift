import ClientKit
import FoundationEssentials
import HTTPTypes
import Trellis

/// The responses in a cache of Trellis on a disk, each with a head of six fields.
struct StoredResponses: DiskCache {
    private let storage: DiskCacheStorage
    private let head: CachedHead
    private var indexPath: String { "\(storage.directory)/entries-1/index" }

    init(folder: String) {
        // The limits are so high that no entry is removed.
        storage = DiskCacheStorage(directory: folder, maximumSize: 1 << 40, maximumCount: 1 << 30)
        let fields: HTTPFields = [
            .date: "Thu, 26 Nov 2026 12:00:00 GMT", .server: "nginx", .contentType: "text/plain",
            .contentLength: "64", .eTag: "\"5f3c-61a0d2b4c8e40\"", .cacheControl: "max-age=86400",
        ]
        let now = Date()
        head = CachedHead(
            status: .ok, headers: fields, requestHeaders: HTTPFields(), requestDate: now, responseDate: now)
    }

    var count: Int { get async throws { try await storage.usage.count } }

    var hasSavedIndex: Bool { FileManager.default.fileExists(atPath: indexPath) }

    func removeSavedIndex() throws { try FileManager.default.removeItem(atPath: indexPath) }

    func store(_ body: Data, at number: Int) async throws {
        let writer = try await storage.makeWriter(for: key(number), head, length: Int64(body.count))
        try await writer.write(body)
        try await writer.commit()
    }

    func body(at number: Int) async throws -> Data? {
        guard let body = try await storage.entries(for: key(number)).first?.body else { return nil }
        return try await body.bytes(in: 0..<body.length)
    }

    func close() async { await storage.close() }

    private func key(_ number: Int) -> CacheKey { CacheKey(url: "http://cache.example/entries/\(number)") }
}
