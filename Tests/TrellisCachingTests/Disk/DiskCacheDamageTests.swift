import CurlEngine
import Foundation
import Glibc
import HTTPTypes
import TestSupport
import Testing

@testable import TrellisCaching
@testable import TrellisCore

/// Files that are cut, changed, exchanged or unusable: never a wrong byte, and no error but that of a failing disk.
struct DiskCacheDamageTests {
    private typealias Samples = DiskSamples

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var storage: DiskCacheStorage { DiskCacheStorage(directory: folder.path) }

    private func write(_ bytes: Data, _ path: String) throws { try bytes.write(to: URL(filePath: path)) }

    @Test func eachChangedByteIsNoticed() async throws {
        let storage = storage
        let (head, body) = (Samples.head([.eTag: "x"]), Samples.body(100))
        try await Samples.store(body, in: storage, head)
        // The background work holds locks that the removal of damaged files needs.
        await storage.settle()
        let path = try Samples.file(in: folder)
        let bytes = try Data(contentsOf: URL(filePath: path))
        var missCount = 0
        for offset in bytes.indices {
            var changed = bytes
            changed[offset] ^= 0x10
            try write(changed, path)
            let entries = try await storage.entries(for: Samples.key)
            guard let entry = entries.first else {
                missCount += 1
                #expect(!FileManager.default.fileExists(atPath: path))
                continue
            }
            #expect(entry.head == head)
            #expect(try await entry.body.bytes(in: 0..<100) == body)
        }
        // The other bytes are those of the room for larger heads.
        let size = CacheFileHead(Samples.key, head).encoded.count
        #expect(missCount == 40 + 24 + size + 100 + 8 + 40)
        #expect(try await storage.usage.count <= 1)
    }

    @Test(arguments: ["end \t", " start", "control\u{1}", "Grüße ", "\u{e9}"])
    func fieldsAreReadByteForByte(_ text: String) throws {
        let latin = text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
        let values = [Array(text.utf8), latin]
        let fields = HTTPFields(values.map { HTTPField(name: .eTag, lenientValue: $0) })
        let stored = CacheFileHead(Samples.key, Samples.head(fields))
        let read = try #require(CacheFileHead(stored.encoded))
        let readValues = read.head.headers.map { unsafe $0.withUnsafeBytesOfValue { unsafe Array($0) } }
        #expect(readValues.suffix(2) == values)
        #expect(read.encoded == stored.encoded)
    }

    @Test func eachCutIsNoticed() async throws {
        let storage = storage
        try await Samples.store(Samples.body(100), in: storage)
        // The background work holds locks that the removal of damaged files needs.
        await storage.settle()
        let path = try Samples.file(in: folder)
        let bytes = try Data(contentsOf: URL(filePath: path))
        for count in 0..<bytes.count {
            try write(bytes.prefix(count), path)
            #expect(try await storage.entries(for: Samples.key).isEmpty)
            #expect(!FileManager.default.fileExists(atPath: path))
        }
        try write(bytes + [0], path)
        #expect(try await storage.entries(for: Samples.key).isEmpty)
        try write(Data(count: bytes.count), path)
        #expect(try await storage.entries(for: Samples.key).isEmpty)
    }

    @Test func exchangedPartsAreNoticed() async throws {
        let storage = storage
        let (a, b) = (CacheKey(url: "http://localhost/a"), CacheKey(url: "http://localhost/b"))
        try await Samples.store(Samples.body(100, 1), a, in: storage)
        try await Samples.store(Samples.body(100, 2), b, in: storage)
        // The background work holds locks that the removal of damaged files needs.
        await storage.settle()
        let paths = Samples.files(in: folder)
        try #require(paths.count == 2)
        let files = try paths.map { try Data(contentsOf: URL(filePath: $0)) }
        // The complete files of two keys.
        try write(files[1], paths[0])
        try write(files[0], paths[1])
        #expect(try await storage.entries(for: a).isEmpty)
        #expect(try await storage.entries(for: b).isEmpty)
        // The end of one file after the beginning of the other.
        for cut in stride(from: 0, to: files[0].count, by: 20) where cut > 0 {
            try write(files[0].prefix(cut) + files[1].dropFirst(cut), paths[0])
            let (first, second) = (try await storage.entries(for: a), try await storage.entries(for: b))
            #expect(first.isEmpty && second.isEmpty)
        }
    }

    @Test func damageToALargeBodyIsNoticedWhenItIsRead() async throws {
        let storage = storage
        let body = Samples.body(1_000_000)
        try await Samples.store(body, in: storage)
        let path = try Samples.file(in: folder)
        var bytes = try Data(contentsOf: URL(filePath: path))
        bytes[bytes.count / 2] ^= 1
        try write(bytes, path)
        let entry = try #require(try await storage.entries(for: Samples.key).first)
        #expect(try await entry.body.bytes(in: 0..<100) == body.prefix(100))
        await #expect(throws: CacheFile.Damaged.self) { try await entry.body.bytes(in: 0..<1_000_000) }
        try await storage.remove(entry, for: Samples.key)
        #expect(try await storage.entries(for: Samples.key).isEmpty)
    }

    @Test func damageInOneSlotSparesTheOthers() async throws {
        let storage = storage
        for (name, count) in [("de", 1), ("fr", 2), ("it", 3)] {
            try await Samples.store(Samples.body(count), in: storage, Samples.language(name))
        }
        // The background work holds locks that the removal of damaged files needs.
        await storage.settle()
        try write(Data(), Samples.file(in: folder))
        #expect(try await Samples.bodies(in: storage).map(\.count) == [2, 3])
        #expect(try await Samples.bodies(in: storage).map(\.count) == [3, 2])
        #expect(try await storage.usage.count == 2)
    }

    @Test func aKeyWithADamagedFileIsListed() async throws {
        let storage = storage
        for (name, count) in [("de", 1), ("fr", 2)] {
            try await Samples.store(Samples.body(count), in: storage, Samples.language(name))
        }
        await storage.settle()
        try write(Data(), Samples.file(in: folder))
        #expect(try await Samples.keys(of: storage) == [Samples.key.url])
        try await HTTPCache(storage: storage).removeAll { _ in true }
        #expect(Samples.files(in: folder).isEmpty)
    }

    @Test func aRemovalThatFailsIsAnErrorOfTheStorage() async throws {
        let storage = storage
        try await Samples.store(Samples.body(1), in: storage)
        // The background work holds locks that a removal needs.
        await storage.settle()
        let entry = try #require(try await storage.entries(for: Samples.key).first)
        let handler: FileOperationHook.Handler = { operation, moment in
            if case .remove = operation, moment == .before { return FileError(reason: "Read-only file system") }
            return nil
        }
        await FileOperationHook.$handler.withValue(handler) {
            let failure = FileFailure(path: folder.path, reason: "Read-only file system")
            await #expect(throws: failure) { try await storage.remove(entry, for: Samples.key) }
            await #expect(throws: failure) { try await storage.removeEntries(for: Samples.key) }
            await #expect(throws: failure) { try await storage.removeAll() }
        }
        #expect(try await Samples.bodies(in: storage) == [Samples.body(1)])
        #expect(try await storage.usage.count == 1)
        try await storage.removeEntries(for: Samples.key)
        #expect(try await storage.usage.count == 0)
        // There is nothing to remove.
        try await storage.removeEntries(for: Samples.key)
        try await storage.removeAll()
    }

    /// The system refuses it, not the test.
    @Test(.enabled(if: geteuid() != 0, "root may remove files from any folder"))
    func aFolderThatKeepsItsFilesIsAnErrorOfTheStorage() async throws {
        let storage = storage
        try await Samples.store(Samples.body(1), in: storage)
        await storage.settle()
        let shard = try URL(filePath: Samples.file(in: folder)).deletingLastPathComponent().path
        try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: shard)
        await #expect(throws: FileFailure.self) { try await storage.removeEntries(for: Samples.key) }
        await #expect(throws: FileFailure.self) { try await storage.removeAll() }
        // A key without files has none that could be kept.
        try await storage.removeEntries(for: CacheKey(url: "x"))
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: shard)
        try await storage.removeAll()
    }

    @Test func otherFilesThanThoseOfTheUserAreNotRead() async throws {
        let storage = storage
        try await Samples.store(Samples.body(1), in: storage)
        let path = try Samples.file(in: folder)
        #expect(FileSystem.mode(of: path) == 0o600)
        let elsewhere = folder.path + "/elsewhere"
        try FileManager.default.moveItem(atPath: path, toPath: elsewhere)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: elsewhere)
        #expect(try await storage.entries(for: Samples.key).isEmpty)
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(try await storage.entries(for: Samples.key).isEmpty)
    }

    @Test(arguments: [10, 3_000_000]) func aFullDiskIsAnErrorOfTheStorage(_ size: Int) async throws {
        let storage = storage
        try await Samples.store(Samples.body(1), in: storage)
        let handler: FileOperationHook.Handler = { operation, moment in
            if case .write = operation, moment == .before { return FileError(reason: "No space left") }
            return nil
        }
        await FileOperationHook.$handler.withValue(handler) {
            await #expect(throws: (any Error).self) { try await Samples.store(Samples.body(size), in: storage) }
        }
        #expect(try await Samples.bodies(in: storage).map(\.count) == [1])
        try await Samples.store(Samples.body(2), in: storage)
        #expect(try await Samples.bodies(in: storage).map(\.count) == [2])
        // The file of a writer that was released before its end is removed on another thread.
        while Samples.files(in: folder).count > 1, !Task.isCancelled { await storage.settle() }
    }

    @Test func aFolderThatCannotBeMadeIsAnErrorOfTheStorage() async throws {
        let path = folder.path + "/file"
        try write(Data(), path)
        let storage = DiskCacheStorage(directory: path + "/cache")
        #expect(try await storage.entries(for: Samples.key).isEmpty)
        await #expect(throws: FileFailure.self) { try await Samples.store(Data(), in: storage) }
    }

    @Test func filesThatWereNotFinishedAreRemoved() async throws {
        let first = storage
        try await Samples.prepare(first)
        try await Samples.store(Samples.body(1), in: first)
        await first.close()
        try write(Data(count: 10), folder.path + "/entries-1/new/1-1")
        let running = try #require(
            try RandomAccessFile.created(path: folder.path + "/entries-1/new/2-2"))
        try FileManager.default.removeItem(atPath: folder.path + "/entries-1/index")
        let second = storage
        _ = try await second.entries(for: Samples.key)
        await second.settle()
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/entries-1/new")
        #expect(names == ["2-2"])
        #expect(FileManager.default.fileExists(atPath: running.path))
    }

    @Test func theChecksumIsXXH64() {
        // The values of the reference implementation.
        #expect(Checksum64.of(Data().bytes) == 0xEF46_DB37_51D8_E999)
        #expect(Checksum64.of(Data("a".utf8).bytes) == 0xD24E_C4F1_A98C_6E5B)
        #expect(Checksum64.of(Data("abc".utf8).bytes) == 0x44BC_2CF5_AD77_0999)
    }
}
