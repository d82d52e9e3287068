import Synchronization
import Trellis

/// A response as bytes.
struct StoredRecord: Codable {
    var id = UUID().uuidString  // the entry's name, which changes when another one replaces it
    var url, partition: String
    var status: Int
    var headers, requestHeaders: HTTPFields  // their encoded form keeps octets that are not UTF-8
    var requestDate, responseDate: Date
    var body: Data

    init(_ key: CacheKey, _ head: CachedHead, _ body: Data) {
        (url, partition, self.body) = (key.url, key.partition, body)
        (status, headers, requestHeaders) = (head.status.code, head.headers, head.requestHeaders)
        (requestDate, responseDate) = (head.requestDate, head.responseDate)
    }

    var head: CachedHead {
        CachedHead(
            status: HTTPResponse.Status(code: status), headers: headers, requestHeaders: requestHeaders,
            requestDate: requestDate, responseDate: responseDate)
    }
}

/// Records under names, as a server for several machines keeps them.
final class RecordStorage: CacheStorage {
    private let records = Mutex<[String: Data]>([:])

    private func name(_ key: CacheKey, _ head: CachedHead) -> String { "\(key)\n\(head.variant)" }

    private func all(_ key: CacheKey) throws -> [StoredRecord] {
        let found = records.withLock { $0 }.filter { $0.key.hasPrefix("\(key)\n") }
        return try found.map { try JSONDecoder().decode(StoredRecord.self, from: $0.value) }
    }

    private func store(_ record: StoredRecord, _ key: CacheKey) throws {
        let data = try JSONEncoder().encode(record)
        let name = name(key, record.head)
        records.withLock { $0[name] = data }
    }

    func entries(for key: CacheKey) async throws -> [CacheEntry] {
        try all(key).map { CacheEntry(id: $0.id, head: $0.head, body: RecordBody(data: $0.body)) }
    }

    func makeWriter(for key: CacheKey, _ head: CachedHead, length: Int64?) async throws -> any CacheWriter {
        RecordWriter { [self] body in try store(StoredRecord(key, head, body), key) }
    }

    func update(_ entry: CacheEntry, for key: CacheKey, to head: CachedHead) async throws {
        guard let old = try all(key).first(where: { $0.id == entry.id }) else { return }
        try await remove(entry, for: key)
        var record = StoredRecord(key, head, old.body)
        record.id = old.id
        try store(record, key)
    }

    func remove(_ entry: CacheEntry, for key: CacheKey) async throws {
        guard let old = try all(key).first(where: { $0.id == entry.id }) else { return }
        let name = name(key, old.head)
        records.withLock { $0[name] = nil }
    }

    func removeEntries(for key: CacheKey) async throws {
        for record in try all(key) {
            let name = name(key, record.head)
            records.withLock { $0[name] = nil }
        }
    }

    func removeAll() async throws { records.withLock { $0 = [:] } }

    var keys: AsyncThrowingStream<CacheKey, any Error> {
        AsyncThrowingStream { continuation in
            let found = records.withLock { $0 }.values.compactMap {
                try? JSONDecoder().decode(StoredRecord.self, from: $0)
            }
            for key in Set(found.map { CacheKey(url: $0.url, partition: $0.partition) }) { continuation.yield(key) }
            continuation.finish()
        }
    }

    var usage: CacheUsage {
        get async throws {
            let all = records.withLock { $0 }.values
            return CacheUsage(count: all.count, size: Int64(all.reduce(0) { $0 + $1.count }))
        }
    }
}

/// The body of a record.
struct RecordBody: CachedBody {
    let data: Data
    var length: Int64 { Int64(data.count) }

    func bytes(in range: Range<Int64>) async throws -> Data {
        data.subdata(in: Int(range.lowerBound)..<Int(range.upperBound))
    }
}

/// The writer of a record, which is stored when its body is complete.
final class RecordWriter: CacheWriter {
    private let body = Mutex(Data())
    private let onCommit: @Sendable (Data) throws -> Void

    init(onCommit: @escaping @Sendable (Data) throws -> Void) { self.onCommit = onCommit }

    func write(_ bytes: Data) async throws { body.withLock { $0.append(bytes) } }

    func commit() async throws { try onCommit(body.withLock { $0 }) }

    func discard() async {}
}
