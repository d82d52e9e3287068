import CurlEngine
import Foundation
import HTTPTypes
import Trellis

/// An entry as bytes. The encoded form of a field keeps octets that are not UTF-8.
struct StoredRecord: Codable {
    var id = UUID().uuidString
    var url, partition: String
    var status: Int
    var headers, requestHeaders: HTTPFields
    var requestDate, responseDate: Date
    var body: Data

    init(_ key: CacheKey, _ head: CachedHead, _ body: Data) {
        (url, partition, self.body) = (key.url, key.partition, body)
        (status, headers, requestHeaders) = (head.status.code, head.headers, head.requestHeaders)
        (requestDate, responseDate) = (head.requestDate, head.responseDate)
    }

    var key: CacheKey { CacheKey(url: url, partition: partition) }

    var head: CachedHead {
        CachedHead(
            status: HTTPResponse.Status(code: status), headers: headers, requestHeaders: requestHeaders,
            requestDate: requestDate, responseDate: responseDate)
    }
}

/// A storage of a user's own, made with the public interface alone: it keeps bytes under names, as a server for several machines does.
final class RecordStorage: CacheStorage {
    /// The records by the texts of their keys and variants.
    private let records = Locked<[String: Data]>([:])

    private static func name(_ key: CacheKey, _ head: CachedHead) -> String { "\(key)\n\(head.variant)" }

    private func decoded(_ data: Data) throws -> StoredRecord {
        try JSONDecoder().decode(StoredRecord.self, from: data)
    }

    private func all(_ key: CacheKey) throws -> [StoredRecord] {
        try records.withLock { $0 }.filter { $0.key.hasPrefix("\(key)\n") }.map { try decoded($0.value) }
    }

    /// Changes the record of an entry, unless the entry has been removed or replaced.
    private func change(_ entry: CacheEntry, _ key: CacheKey, to head: CachedHead?) throws {
        guard var record = try all(key).first(where: { $0.id == entry.id }) else { return }
        let old = Self.name(key, record.head)
        guard let head else { return records.withLock { $0[old] = nil } }
        let id = record.id
        record = StoredRecord(key, head, record.body)
        record.id = id
        let data = try JSONEncoder().encode(record)
        records.withLock { records in
            records[old] = nil
            records[Self.name(key, head)] = data
        }
    }

    func entries(for key: CacheKey) throws -> [CacheEntry] {
        try all(key).map { CacheEntry(id: $0.id, head: $0.head, body: Body(data: $0.body)) }
    }

    func makeWriter(for key: CacheKey, _ head: CachedHead, length: Int64?) -> any CacheWriter {
        Writer(self, key, head)
    }

    func update(_ entry: CacheEntry, for key: CacheKey, to head: CachedHead) throws { try change(entry, key, to: head) }

    func remove(_ entry: CacheEntry, for key: CacheKey) throws { try change(entry, key, to: nil) }

    func removeEntries(for key: CacheKey) {
        records.withLock { records in records = records.filter { !$0.key.hasPrefix("\(key)\n") } }
    }

    func removeAll() { records.withLock { $0 = [:] } }

    var keys: AsyncThrowingStream<CacheKey, any Error> {
        AsyncThrowingStream { continuation in
            do {
                let keys = try records.withLock { $0 }.values.map { try decoded($0).key }
                for key in Set(keys) { continuation.yield(key) }
                continuation.finish()
            } catch { continuation.finish(throwing: error) }
        }
    }

    var usage: CacheUsage {
        records.withLock { CacheUsage(count: $0.count, size: $0.values.reduce(0) { $0 + Int64($1.count) }) }
    }

    private struct Body: CachedBody {
        let data: Data
        var length: Int64 { Int64(data.count) }

        func bytes(in range: Range<Int64>) -> Data {
            data.subdata(in: Int(range.lowerBound)..<Int(range.upperBound))
        }
    }

    private final class Writer: CacheWriter {
        private let storage: RecordStorage
        private let key: CacheKey
        private let head: CachedHead
        private let body = Locked(Data())

        init(_ storage: RecordStorage, _ key: CacheKey, _ head: CachedHead) {
            (self.storage, self.key, self.head) = (storage, key, head)
        }

        func write(_ bytes: Data) { body.withLock { $0.append(bytes) } }

        func commit() throws {
            let data = try JSONEncoder().encode(StoredRecord(key, head, body.withLock { $0 }))
            storage.records.withLock { $0[RecordStorage.name(key, head)] = data }
        }

        func discard() { body.withLock { $0 = Data() } }
    }
}
