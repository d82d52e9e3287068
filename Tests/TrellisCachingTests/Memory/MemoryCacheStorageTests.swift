import Foundation
import HTTPTypes
import Testing

@testable import TrellisCaching
@testable import TrellisCore

/// The bounds of responses in memory.
struct MemoryCacheStorageTests {
    private static func head(_ fields: HTTPFields = [:], request: HTTPFields = [:]) -> CachedHead {
        CachedHead(
            status: .ok, headers: fields, requestHeaders: request, requestDate: Date(timeIntervalSince1970: 0),
            responseDate: Date(timeIntervalSince1970: 0))
    }

    private static func store(
        _ size: Int, _ key: String, in storage: MemoryCacheStorage, _ head: CachedHead = head()
    ) async throws {
        let writer = try storage.makeWriter(for: CacheKey(url: key), head, length: nil)
        try await writer.write(Data(count: size / 2))
        try await writer.write(Data(count: size - size / 2))
        try await writer.commit()
    }

    @Test func theLeastRecentlyUsedEntriesAreRemovedFirst() async throws {
        let storage = MemoryCacheStorage(maximumSize: 1 << 20, maximumCount: 3)
        for key in ["a", "b", "c"] { try await Self.store(10, key, in: storage) }
        #expect(storage.entries(for: CacheKey(url: "a")).count == 1)
        try await Self.store(10, "d", in: storage)
        #expect(["a", "b", "c", "d"].map { storage.entries(for: CacheKey(url: $0)).count } == [1, 0, 1, 1])
        #expect(storage.usage.count == 3)
    }

    @Test func theBytesAreBounded() async throws {
        let storage = MemoryCacheStorage(maximumSize: 100_000, maximumBodySize: 50_000)
        for number in 0..<100 {
            try await Self.store(20_000, "\(number)", in: storage)
            #expect(storage.usage.size <= 100_000)
        }
        #expect(storage.usage.count == 4)
        #expect(storage.entries(for: CacheKey(url: "99")).first?.body.length == 20_000)
        await #expect(throws: MemoryCacheStorage.TooLarge.self) { try await Self.store(50_001, "x", in: storage) }
        #expect(throws: MemoryCacheStorage.TooLarge.self) {
            try storage.makeWriter(for: CacheKey(url: "x"), Self.head(), length: 50_001)
        }
        storage.removeAll()
        #expect(storage.usage == CacheUsage(count: 0, size: 0))
    }

    @Test func anEntryReplacesTheSameVariantOnly() async throws {
        let storage = MemoryCacheStorage()
        for (language, size) in [("de", 1), ("fr", 2), ("de", 3)] {
            let head = Self.head([.vary: "accept-language"], request: [.acceptLanguage: language, .accept: "x"])
            #expect(head.requestHeaders == [.acceptLanguage: language])
            try await Self.store(size, "a", in: storage, head)
        }
        #expect(storage.entries(for: CacheKey(url: "a")).map(\.body.length).sorted() == [2, 3])
        storage.removeEntries(for: CacheKey(url: "a"))
        #expect(storage.usage == CacheUsage(count: 0, size: 0))
    }

    @Test func anUpdateOfAnEntryThatWasReplacedChangesNothing() async throws {
        let storage = MemoryCacheStorage()
        try await Self.store(1, "a", in: storage)
        let old = try #require(storage.entries(for: CacheKey(url: "a")).first)
        try await Self.store(2, "a", in: storage)
        storage.update(old, for: CacheKey(url: "a"), to: Self.head([.server: "new"]))
        #expect(storage.entries(for: CacheKey(url: "a")).map(\.head.headers) == [[:]])
        let present = try #require(storage.entries(for: CacheKey(url: "a")).first)
        storage.update(present, for: CacheKey(url: "a"), to: Self.head([.server: "new"]))
        #expect(storage.entries(for: CacheKey(url: "a")).map(\.head.headers) == [[.server: "new"]])
        #expect(storage.entries(for: CacheKey(url: "a")).first?.body.length == 2)
    }

    @Test func nothingOfAnEntryIsVisibleBeforeItIsComplete() async throws {
        let storage = MemoryCacheStorage()
        let writer = try storage.makeWriter(for: CacheKey(url: "a"), Self.head(), length: nil)
        try await writer.write(Data(count: 10))
        #expect(storage.entries(for: CacheKey(url: "a")).isEmpty && storage.usage == CacheUsage(count: 0, size: 0))
        await writer.discard()
        #expect(storage.entries(for: CacheKey(url: "a")).isEmpty)
    }

    @Test func rangesOfABody() {
        let body = MemoryBody(data: Data([1, 2, 3, 4]).dropFirst())
        #expect(body.length == 3)
        #expect(Array(body.bytes(in: 1..<3)) == [3, 4] && Array(body.bytes(in: 0..<3)) == [2, 3, 4])
    }
}
