import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import TrellisCaching
@testable import TrellisCore

/// Files under the names of other keys, as if the digests of two keys were the same: neither key ever gets the response of the other.
@Suite(.timeLimit(.minutes(3)))
struct DiskCacheForgeryTests {
    private typealias Samples = DiskSamples

    private static let keys = [
        CacheKey(url: "http://localhost/a"), CacheKey(url: "http://localhost/b"),
        CacheKey(url: "http://localhost/a", partition: "b"),
        // The same text, if the parts of a key were only put together, and texts that are canonically equivalent.
        CacheKey(url: "http://localhost/", partition: "ab"), CacheKey(url: "http://localhost/\u{E9}"),
        CacheKey(url: "http://localhost/e\u{301}"),
    ]

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func path(_ key: CacheKey, slot: Int = 0) throws -> String {
        let name = try CacheFileName(key)
        return "\(DiskCacheFolder(path: folder.path).shardPath(name.shard))/\(name.text(slot: slot))"
    }

    /// Copies the file of one key to the name of another one, whose folder may not exist.
    private func forge(_ key: CacheKey, as other: CacheKey, slot: Int = 0) throws {
        let target = try path(other, slot: slot)
        let parent = URL(filePath: target).deletingLastPathComponent()
        try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
        try? FileManager.default.removeItem(atPath: target)
        try FileManager.default.copyItem(atPath: try path(key), toPath: target)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: target)
    }

    @Test func theNamesOfDifferentKeysDiffer() throws {
        let names = try Self.keys.map { key in try CacheFileName(key) }
        #expect(Set(names).count == Self.keys.count)
    }

    /// All pairs of different keys, by their indices.
    static let pairs = keys.indices.flatMap { first in keys.indices.map { (first, $0) } }.filter { $0.0 != $0.1 }

    @Test(arguments: pairs) func theFileOfAnotherKeyIsNeverServed(_ first: Int, _ second: Int) async throws {
        let (key, other) = (Self.keys[first], Self.keys[second])
        let storage = DiskCacheStorage(directory: folder.path)
        try await Samples.store(Samples.body(100), key, in: storage)
        await storage.settle()
        try forge(key, as: other)
        #expect(try await storage.entries(for: other).isEmpty)
        // The file is removed, and its own key has its response.
        let forged = try path(other)
        #expect(!FileManager.default.fileExists(atPath: forged))
        #expect(try await Samples.bodies(key, in: storage) == [Samples.body(100)])
    }

    /// A response that is stored takes the place of the forged file, and one in a later slot hides none.
    @Test func aForgedFileHidesNoOther() async throws {
        let (key, other) = (Self.keys[0], Self.keys[1])
        let storage = DiskCacheStorage(directory: folder.path)
        try await Samples.store(Samples.body(100), key, in: storage)
        await storage.settle()
        try forge(key, as: other)
        try await Samples.store(Samples.body(50), other, in: storage)
        #expect(try await Samples.bodies(other, in: storage) == [Samples.body(50)])
        try forge(key, as: other, slot: 1)
        #expect(try await Samples.bodies(other, in: storage) == [Samples.body(50)])
        #expect(try await Samples.bodies(key, in: storage) == [Samples.body(100)])
    }

    /// A file that was made for another key is changed by no operation on this one.
    @Test func aForgedFileIsNotUpdated() async throws {
        let (key, other) = (Self.keys[0], Self.keys[1])
        let storage = DiskCacheStorage(directory: folder.path)
        try await Samples.store(Samples.body(100), key, in: storage)
        await storage.settle()
        let entry = try #require(try await storage.entries(for: key).first)
        try forge(key, as: other)
        try await storage.update(entry, for: other, to: Samples.head([.eTag: "\"2\""]))
        #expect(try await storage.entries(for: other).isEmpty)
        #expect(try await storage.entries(for: key).first?.head.headers[.eTag] == nil)
    }
}
