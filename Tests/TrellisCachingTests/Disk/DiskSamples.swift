import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import TrellisCaching
@testable import TrellisCore

/// Entries for the tests of responses on a disk.
enum DiskSamples {
    static let key = CacheKey(url: "http://localhost/a")

    static func head(
        _ fields: HTTPFields = [:], request: HTTPFields = [:], at seconds: Double = 784_111_777
    ) -> CachedHead {
        CachedHead(
            status: .ok, headers: fields, requestHeaders: request, requestDate: Date(timeIntervalSince1970: seconds),
            responseDate: Date(timeIntervalSince1970: seconds + 0.25))
    }

    static func language(_ name: String) -> CachedHead {
        head([.vary: "accept-language"], request: [.acceptLanguage: name])
    }

    /// Returns bytes that depend on a number, so that parts of different bodies differ.
    static func body(_ count: Int, _ seed: UInt64 = 1) -> Data {
        var state = seed
        let words: [UInt64] = (0..<(count + 7) / 8).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state.bigEndian
        }
        return unsafe words.withUnsafeBytes { unsafe Data($0.prefix(count)) }
    }

    static func store(
        _ body: Data, _ key: CacheKey = key, in storage: DiskCacheStorage, _ head: CachedHead = head(),
        pieceSize: Int = 100_000
    ) async throws {
        let writer = try await storage.makeWriter(for: key, head, length: nil)
        var rest = body
        while !rest.isEmpty {
            try await writer.write(Data(rest.prefix(pieceSize)))
            rest = rest.dropFirst(pieceSize)
        }
        try await writer.commit()
    }

    /// Opens a storage whose folder is empty, so that the entries that follow begin no work in the background: the folder has been read, and
    /// the index is complete.
    static func prepare(_ storage: DiskCacheStorage) async throws {
        try await storage.open()
        await storage.settle()
    }

    /// Returns the bodies of all entries.
    static func bodies(_ key: CacheKey = key, in storage: DiskCacheStorage) async throws -> [Data] {
        var bodies: [Data] = []
        for entry in try await storage.entries(for: key) {
            bodies.append(try await entry.body.bytes(in: 0..<entry.body.length))
        }
        return bodies
    }

    static func keys(of storage: DiskCacheStorage) async throws -> Set<String> {
        var keys: Set<String> = []
        for try await key in storage.keys { keys.insert(key.url) }
        return keys
    }

    /// Returns the path of the first file of an entry in a folder.
    static func file(in folder: TemporaryFolder) throws -> String { try #require(files(in: folder).first) }

    /// Returns the paths of the files of entries in a folder, and of those that are not complete.
    static func files(in folder: TemporaryFolder) -> [String] {
        let names = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
        return names.filter { $0.contains("-") && $0.split(separator: "/").count == 3 }.sorted()
            .map { "\(folder.path)/\($0)" }
    }
}
