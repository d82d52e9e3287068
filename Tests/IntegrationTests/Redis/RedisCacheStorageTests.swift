#if Redis
import Foundation
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore
@testable import TrellisRedis

/// Responses on Debian's redis-server, as two processes see them, each with a connection of its own.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requires("redis-server"))
struct RedisCacheStorageTests {
    private let key = CacheKey(url: "http://localhost/a")
    private let one: RedisCacheStorage
    private let other: RedisCacheStorage

    init() async throws {
        let peer = try await RedisPeer.shared.value
        let prefix = UUID().uuidString
        one = try .made(peer.server { $0.prefix = prefix })
        other = try .made(peer.server { $0.prefix = prefix })
    }

    /// With its head, in one piece, in one and a bit, and in several.
    @Test(arguments: [0, 1, 32 << 10, (32 << 10) + 1, 64 << 10, (64 << 10) + 1, 700_000])
    func aBodyIsReadAsItWasWritten(_ size: Int) async throws {
        let body = noise(size)
        try await one.store(body, for: key)
        let entry = try #require(try await other.entries(for: key).first)
        #expect(entry.body.length == Int64(size) && entry.head.headers[.cacheControl] == "max-age=600")
        #expect(try await entry.body.bytes(in: 0..<Int64(size)) == body)
        for range in [0..<size / 2, size / 3..<size, size / 2..<size / 2] {
            let bytes = try await entry.body.bytes(in: Int64(range.lowerBound)..<Int64(range.upperBound))
            #expect(bytes == body[range])
        }
    }

    @Test func nothingIsVisibleBeforeItIsWhole() async throws {
        let now = Date()
        let head = CachedHead(
            status: .ok, headers: [.cacheControl: "max-age=60"], requestHeaders: [:], requestDate: now,
            responseDate: now)
        let writer = try await one.makeWriter(for: key, head, length: nil)
        try await writer.write(noise(200_000))
        #expect(try await other.entries(for: key).isEmpty)
        await writer.discard()
        #expect(try await other.entries(for: key).isEmpty)
    }

    @Test func variantsAreApartAndReplaceThemselves() async throws {
        for (language, text) in [("de", "a"), ("fr", "b"), ("de", "c")] {
            try await one.store(
                Data(text.utf8), for: key, [.cacheControl: "max-age=600", .vary: "accept-language"],
                request: [.acceptLanguage: language])
        }
        #expect(Set(try await other.bodies(key)) == [Data("b".utf8), Data("c".utf8)])
        #expect(try await other.usage.count == 2)
    }

    /// An endless number of variants does not fill the server.
    @Test func theNumberOfVariantsIsBounded() async throws {
        for number in 0..<40 {
            try await one.store(
                Data("\(number)".utf8), for: key, [.cacheControl: "max-age=600", .vary: "accept"],
                request: [.accept: "a/\(number)"])
        }
        let bodies = try await other.bodies(key)
        #expect(bodies.count == Int(RedisCacheStorage.maximumVariantCount) && bodies.contains(Data("39".utf8)))
    }

    @Test func aBodyThatIsReadStaysWhenItsEntryIsReplaced() async throws {
        let body = noise(300_000)
        try await one.store(body, for: key)
        let entry = try #require(try await other.entries(for: key).first)
        #expect(try await entry.body.bytes(in: 0..<100_000) == body[..<100_000])
        try await one.store(Data("new".utf8), for: key)
        #expect(try await entry.body.bytes(in: 100_000..<300_000) == body[100_000...])
        #expect(try await other.bodies(key) == [Data("new".utf8)])
    }

    @Test func aHeadIsReplacedUnlessTheEntryIsAnother() async throws {
        try await one.store(noise(100_000), for: key)
        let entry = try #require(try await one.entries(for: key).first)
        var head = entry.head
        head.headers[.cacheControl] = "max-age=700"
        try await one.update(entry, for: key, to: head)
        let updated = try #require(try await other.entries(for: key).first)
        #expect(updated.head.headers[.cacheControl] == "max-age=700" && updated.id == entry.id)
        #expect(try await other.bodies(key) == [noise(100_000)])
        try await other.store(Data("new".utf8), for: key)
        try await one.update(entry, for: key, to: head)
        try await one.remove(entry, for: key)
        #expect(try await other.bodies(key) == [Data("new".utf8)])
    }

    @Test func removalsAreSeenByAll() async throws {
        let keys = (0..<20).map { CacheKey(url: "http://localhost/\($0)") }
        for key in keys { try await one.store(noise(100_000), for: key) }
        var found: [CacheKey] = []
        for try await key in other.keys { found.append(key) }
        #expect(Set(found) == Set(keys) && found.count == 20)
        let usage = try await other.usage
        #expect(usage.count == 20 && usage.size > 2_000_000)
        let entry = try #require(try await one.entries(for: keys[0]).first)
        try await one.remove(entry, for: keys[0])
        try await one.removeEntries(for: keys[1])
        #expect(try await other.usage.count == 18)
        #expect(try await other.entries(for: keys[0]).isEmpty)
        #expect(try await other.entries(for: keys[1]).isEmpty)
        try await other.removeAll()
        #expect(try await one.usage == CacheUsage(count: 0, size: 0))
    }

    /// A response whose request was sent before an invalidation is not stored after it, whichever process has invalidated.
    @Test(arguments: [false, true]) func whatWasInvalidatedMeanwhileIsNotStored(_ isOfAll: Bool) async throws {
        let visit = StorageVisit()
        try await StorageVisit.$current.withValue(visit) {
            #expect(try await one.entries(for: key).isEmpty)
            if isOfAll { try await other.removeAll() } else { try await other.removeEntries(for: key) }
            await #expect(throws: RedisCacheStorage.Refusal.self) { try await one.store(Data("old".utf8), for: key) }
        }
        #expect(try await other.entries(for: key).isEmpty)
        // Another key, and a later request, are not concerned.
        try await one.store(Data("new".utf8), for: key)
        #expect(try await other.bodies(key) == [Data("new".utf8)])
    }

    @Test func bodiesThatAreTooLargeAndResponsesOfNoUseAreRefused() async throws {
        let small = try RedisCacheStorage.made(one.server, maximumBodySize: 100_000)
        await #expect(throws: RedisCacheStorage.Refusal.self) { try await small.store(noise(100_001), for: key) }
        try await small.store(noise(100_000), for: key)
        await #expect(throws: RedisCacheStorage.Refusal.self) {
            try await one.store(Data("a".utf8), for: key, [.cacheControl: "max-age=0"])
        }
        // Stale from the beginning, but it can be validated.
        try await one.store(Data("a".utf8), for: key, [.cacheControl: "max-age=0", .eTag: "\"1\""])
        #expect(try await other.bodies(key) == [Data("a".utf8)])
    }

    /// The server itself removes what is of no more use.
    @Test func entriesExpire() async throws {
        try await one.store(noise(100_000), for: key, [.cacheControl: "max-age=600, stale-while-revalidate=60"])
        let replies = try await one.server.values(nil) { [self] run in
            let names = one.names(run)
            guard let digest = one.digest(of: key) else { return [] }
            return [RedisCommand("PTTL", [.text(names.heads(digest))])]
        }
        let rest = try #require(replies.first?.number)
        #expect(rest > 600_000 && rest <= 660_000)
    }

    // MARK: One user's responses

    @Test func oneUsersResponsesAreNotStoredWithoutAKey() async throws {
        let mine = try RedisCacheStorage.made(one.server, isShared: false)
        await #expect(throws: RedisFailure.noKey) { try await mine.store(Data("a".utf8), for: key) }
        await #expect(throws: RedisFailure.noKey) {
            try await one.store(Data("a".utf8), for: key, [.cacheControl: "private, max-age=600"])
        }
        #expect(try await mine.entries(for: key).isEmpty)
        #expect(try await one.entries(for: key).isEmpty)
    }

    @Test(arguments: [10, 100_000]) func oneUsersResponsesAreEncrypted(_ size: Int) async throws {
        let (a, b) = (
            try RedisKey([UInt8](repeating: 1, count: 32), name: "a"),
            try RedisKey([UInt8](repeating: 2, count: 32), name: "b")
        )
        let body = Data(repeating: UInt8(ascii: "s"), count: size)
        let mine = try RedisCacheStorage.made(one.server, isShared: false, keys: [a])
        try await mine.store(body, for: key)
        let rotated = try RedisCacheStorage.made(other.server, isShared: false, keys: [a, b])
        #expect(try await rotated.bodies(key) == [body])
        #expect(try await RedisCacheStorage.made(one.server, isShared: false, keys: [b]).entries(for: key).isEmpty)
        #expect(try await one.entries(for: key).isEmpty)
        let found = try await everything(under: one.server.configuration.prefix)
        #expect(found.count > size)
        for secret in ["ssssss", "localhost", "max-age"] {
            #expect(found.firstRange(of: Data(secret.utf8)) == nil, "\(secret)")
        }
        try await rotated.removeEntries(for: key)
        #expect(try await mine.entries(for: key).isEmpty)
    }

    /// Returns all names and values that begin with a prefix.
    private func everything(under prefix: String) async throws -> Data {
        let names = try await one.server.values(nil) { _ in [RedisCommand("KEYS", [.text("\(prefix)*")])] }
        var found = Data()
        for name in names.first?.elements ?? [] {
            guard let name = name.data else { continue }
            found.append(name)
            guard
                let fields = try? await one.server.values(nil, { _ in [RedisCommand("HGETALL", [.bytes(name)])] }).first
            else { continue }
            for field in fields.elements ?? [] { found.append(field.data ?? Data()) }
        }
        return found
    }
}
#endif
