#if Redis
import CurlEngine
import FoundationEssentials
public import TrellisCaching

/// All entries of a storage, which are found step by step.
extension RedisCacheStorage {
    /// The number of names that the server looks at in one step.
    private static let step: Int64 = 500

    /// Removes all entries, for all processes. What they have fetched before is not stored afterwards.
    ///
    /// - Throws: ``RedisFailure``; `CancellationError` in a cancelled task.
    public func removeAll() async throws {
        _ = try await server.values(nil) { [self] run in
            let names = names(run)
            return [
                RedisCommand(
                    RedisCacheScript.invalidateAll, keys: [names.count, names.all],
                    [.number(RedisCacheScript.invalidationLifetime)])
            ]
        }
        for index in 0..<2 {
            var cursor: String? = "0"
            while let place = cursor {
                let (next, found) = try await scan(from: place, pattern: index)
                if !found.isEmpty {
                    _ = try await server.values(nil) { _ in [RedisCommand("UNLINK", found.map { .bytes($0) })] }
                }
                cursor = next
            }
        }
    }

    /// The keys that have entries. Each step waits for the server as long as a request does.
    public var keys: AsyncThrowingStream<CacheKey, any Error> {
        let state = Locked((cursor: String?("0"), keys: [CacheKey]()))
        return AsyncThrowingStream { [self] in
            while true {
                if let key = state.withLock({ $0.keys.popLast() }) { return key }
                guard let cursor = state.withLock({ $0.cursor }), !Task.isCancelled else { return nil }
                let (next, found) = try await scan(from: cursor, pattern: 0)
                var keys: [CacheKey] = []
                for name in found { keys += try await records(at: name).first.map { [$0.record.names.key] } ?? [] }
                state.withLock { $0 = (next, keys) }
            }
        }
    }

    /// The number of entries, and of the bytes of their heads and bodies. All heads are read for that.
    ///
    /// - Throws: ``RedisFailure``; `CancellationError` in a cancelled task.
    public var usage: CacheUsage {
        get async throws {
            var usage = CacheUsage(count: 0, size: 0)
            var cursor: String? = "0"
            while let place = cursor {
                let (next, found) = try await scan(from: place, pattern: 0)
                for name in found {
                    for (size, record) in try await records(at: name) {
                        usage.count += 1
                        usage.size += Int64(size) + (record.inline == nil ? record.length : 0)
                    }
                }
                cursor = next
            }
            return usage
        }
    }

    /// Looks at the next names of the server. Returns the place of the next step, if there is one, and the names that were found.
    private func scan(from cursor: String, pattern: Int) async throws -> (next: String?, found: [Data]) {
        let replies = try await server.values(nil) { [self] run in
            [
                RedisCommand(
                    "SCAN",
                    [
                        .text(cursor), .text("MATCH"), .text(names(run).patterns[pattern]), .text("COUNT"),
                        .number(Self.step),
                    ])
            ]
        }
        guard let parts = replies.first?.elements, parts.count == 2, let next = parts[0].data,
            let found = parts[1].elements
        else { throw RedisFailure.malformed }
        let place = String(decoding: next, as: UTF8.self)
        return (place.hasSameBytes(as: "0") ? nil : place, found.compactMap(\.data))
    }

    /// Returns the records at a name, with the sizes of their values.
    private func records(at name: Data) async throws -> [(size: Int, record: RedisCacheRecord)] {
        let replies = try await server.values(nil) { _ in [RedisCommand("HGETALL", [.bytes(name)])] }
        guard let fields = replies.first?.elements else { throw RedisFailure.malformed }
        // The digest of the key is the end of the name.
        let digest = String(Substring(String(decoding: name, as: UTF8.self).utf8.suffix(RedisCacheNames.digestLength)))
        return stride(from: 0, to: fields.count - 1, by: 2).compactMap { index in
            guard let variant = fields[index].data, let value = fields[index + 1].data,
                let record = record(value, digest, variant: String(decoding: variant, as: UTF8.self))?.record
            else { return nil }
            return (value.count, record)
        }
    }
}
#endif
