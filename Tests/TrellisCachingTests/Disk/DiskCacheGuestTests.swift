import CurlEngine
import Foundation
import TestSupport
import Testing

@testable import TrellisCaching
@testable import TrellisCore

/// Storages whose folder another one owns, which store an eighth of the size that the owner has not seen.
@Suite(.timeLimit(.minutes(3)))
struct DiskCacheGuestTests {
    private typealias Samples = DiskSamples

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A commit that fails, or that is tried again because a lock is held, has stored nothing that the owner could not have seen.
    @Test func whatWasNotStoredDoesNotCount() async throws {
        let owner = DiskCacheStorage(directory: folder.path)
        try await Samples.prepare(owner)
        try await Samples.store(Samples.body(10), in: owner)
        #expect(owner.isOwner)
        // The guest may store 10,000 bytes, which are two of the bodies.
        let guest = DiskCacheStorage(directory: folder.path, maximumSize: 80_000)
        let (first, second) = (CacheKey(url: "http://localhost/first"), CacheKey(url: "http://localhost/second"))
        try await Samples.store(Samples.body(3000), first, in: guest)
        #expect(!guest.isOwner)
        let lock = try DiskCacheFolder(path: folder.path).shardPath(CacheFileName(second).shard) + ".lock"
        try FileManager.default.createDirectory(atPath: lock, withIntermediateDirectories: false)
        for _ in 1...5 {
            await #expect(throws: FileFailure.self) {
                try await Samples.store(Samples.body(3000), second, in: guest)
            }
        }
        try FileManager.default.removeItem(atPath: lock)
        try await Samples.store(Samples.body(3000), second, in: guest)
        #expect(try await Samples.bodies(second, in: guest) == [Samples.body(3000)])
        // Further ones are too many, until the owner looks.
        await #expect(throws: FileFailure.self) {
            for _ in 1...3 { try await Samples.store(Samples.body(3000), first, in: guest) }
        }
        await owner.settle()
        try await Samples.store(Samples.body(3000), first, in: guest)
    }
}
