import CurlEngine
import Foundation
import TestSupport
import Testing

@testable import TrellisCaching
@testable import TrellisCore

/// A saved index that is intact and about other files than those in the folder.
@Suite(.timeLimit(.minutes(3)))
struct DiskCacheWrongIndexTests {
    private typealias Samples = DiskSamples

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func storage(maximumCount: Int = 100) -> DiskCacheStorage {
        DiskCacheStorage(directory: folder.path, maximumCount: maximumCount)
    }

    private static func key(_ number: Int) -> CacheKey { CacheKey(url: "http://localhost/\(number)") }

    /// Stores entries of 100 bytes and more, one after the other, and closes the storage. Returns the path of each entry's file.
    private func fill(_ count: Int) async throws -> [String] {
        let storage = storage()
        // The folders are read before the first entry, so that the index is complete, and saved.
        try await storage.open()
        await storage.settle()
        var paths: [String] = []
        for number in 0..<count {
            try await Samples.store(Samples.body(100 + number), Self.key(number), in: storage)
            let path = Samples.files(in: folder).first { !paths.contains($0) }
            paths.append(try #require(path))
        }
        await storage.close()
        #expect(FileManager.default.fileExists(atPath: "\(folder.path)/entries-1/index"))
        return paths
    }

    /// Gives all folders with entries an older modification time than the index, as a copy has that keeps the times.
    private func hideChanges() throws {
        let root = "\(folder.path)/entries-1"
        for name in try FileManager.default.contentsOfDirectory(atPath: root) {
            guard name.utf8.count == 2 else { continue }
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1_000_000_000)], ofItemAtPath: "\(root)/\(name)")
        }
    }

    private func usage(of paths: some Collection<String>) -> CacheUsage {
        CacheUsage(count: paths.count, size: paths.reduce(0) { $0 + WholeFile.size(path: $1) })
    }

    @Test func filesThatWereRemovedMeanwhileAreNotCounted() async throws {
        let paths = try await fill(6)
        for path in paths[2...3] { try FileManager.default.removeItem(atPath: path) }
        let storage = storage()
        try await storage.open()
        await storage.settle()
        #expect(try await storage.usage == usage(of: paths[0...1] + paths[4...5]))
        #expect(try await storage.entries(for: Self.key(2)).isEmpty)
        #expect(try await Samples.bodies(Self.key(4), in: storage) == [Samples.body(104)])
        await storage.close()
    }

    /// An index about the folders as they are is used without reading them.
    @Test func filesThatAreGoneWithoutATraceAreCountedUntilTheyAreMissed() async throws {
        let paths = try await fill(6)
        for path in paths[2...3] { try FileManager.default.removeItem(atPath: path) }
        try hideChanges()
        let storage = storage()
        try await storage.open()
        await storage.settle()
        #expect(try await storage.usage.count == 6)
        for count in [5, 4] {
            #expect(try await storage.entries(for: Self.key(7 - count)).isEmpty)
            #expect(try await storage.usage.count == count)
        }
        #expect(try await storage.usage == usage(of: paths[0...1] + paths[4...5]))
        #expect(try await storage.entries(for: Self.key(2)).isEmpty)
        #expect(try await storage.usage.count == 4)
        await storage.close()
    }

    @Test(arguments: [false, true]) func filesThatCameBackAreCounted(_ isHidden: Bool) async throws {
        let paths = try await fill(3)
        let copy = folder.path("copy")
        try FileManager.default.copyItem(atPath: paths[1], toPath: copy)
        let first = self.storage()
        try await first.open()
        await first.settle()
        try await first.removeEntries(for: Self.key(1))
        #expect(try await first.usage.count == 2)
        await first.close()
        try FileManager.default.moveItem(atPath: copy, toPath: paths[1])
        if isHidden { try hideChanges() }
        let second = self.storage()
        try await second.open()
        await second.settle()
        #expect(try await second.usage.count == (isHidden ? 2 : 3))
        #expect(try await Samples.bodies(Self.key(1), in: second) == [Samples.body(101)])
        #expect(try await second.usage == usage(of: paths))
        await second.close()
    }

    /// A file that another one has replaced has another size.
    @Test func aFileWithAnotherSizeIsCountedWithIt() async throws {
        let paths = try await fill(2)
        let other = try TemporaryFolder()
        let second = DiskCacheStorage(directory: other.path)
        try await Samples.store(Samples.body(5000), Self.key(0), in: second)
        await second.close()
        let file = try #require(Samples.files(in: other).first)
        try FileManager.default.removeItem(atPath: paths[0])
        try FileManager.default.moveItem(atPath: file, toPath: paths[0])
        try hideChanges()
        let storage = storage()
        try await storage.open()
        await storage.settle()
        #expect(try await Samples.bodies(Self.key(0), in: storage) == [Samples.body(5000)])
        #expect(try await storage.usage == usage(of: paths))
        await storage.close()
    }

    /// The removal of the oldest entries takes the records of missing files out, and ends.
    @Test func missingFilesAreRemovedFirst() async throws {
        let paths = try await fill(10)
        for path in paths[0..<5] { try FileManager.default.removeItem(atPath: path) }
        try hideChanges()
        let storage = storage(maximumCount: 5)
        try await storage.open()
        await storage.settle()
        #expect(try await storage.usage == usage(of: paths[5...]))
        #expect(Samples.files(in: folder).sorted() == paths[5...].sorted())
        await storage.close()
    }
}
