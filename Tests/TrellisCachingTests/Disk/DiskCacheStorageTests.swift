import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// Responses in files: their contents, their bounds, and storages that share a folder.
@Suite(.timeLimit(.minutes(3)))
struct DiskCacheStorageTests {
    private typealias Samples = DiskSamples

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func storage(
        maximumSize: Int64 = 1 << 30, maximumCount: Int = 1_000_000
    ) -> DiskCacheStorage {
        DiskCacheStorage(directory: folder.path, maximumSize: maximumSize, maximumCount: maximumCount)
    }

    @Test func entriesAreFoundAgain() async throws {
        var fields: HTTPFields = [.contentType: "text/plain", .setCookie: "a=1", .eTag: "\"\u{FC}\""]
        fields.append(HTTPField(name: .setCookie, value: "b=2"))
        fields.append(HTTPField(name: .server, lenientValue: [0x61, 0xFF, 0x62]))
        fields[.vary] = "accept"
        let head = Samples.head(fields, request: [.accept: "x", .acceptLanguage: "de"])
        let key = CacheKey(url: "http://localhost/\u{E9}", partition: "p")
        let bodies = [Data(), Samples.body(1), Samples.body(65_536), Samples.body(65_537), Samples.body(3_500_001)]
        for body in bodies {
            let first = storage()
            try await Samples.store(body, key, in: first, head)
            await first.close()
            let second = storage()
            let entry = try #require(try await second.entries(for: key).first)
            #expect(entry.head == head)
            #expect(entry.head.headers.last { $0.name == .server }?.octetsBeyondUTF8 == [0x61, 0xFF, 0x62])
            #expect(entry.body.length == body.count)
            #expect(try await Samples.bodies(key, in: second) == [body])
            #expect(try await second.entries(for: CacheKey(url: key.url)).isEmpty)
            await second.close()
        }
        #expect(Samples.files(in: folder).count == 1)
    }

    @Test func partsOfALargeBodyAreRead() async throws {
        let storage = storage()
        let body = Samples.body(1_000_003)
        try await Samples.store(body, in: storage)
        let entry = try #require(try await storage.entries(for: Samples.key).first)
        // The body stays readable.
        try await storage.removeAll()
        for range in [0..<1, 65_535..<65_537, 65_536..<131_072, 999_999..<1_000_003, 5..<5, 1_000_003..<1_000_003] {
            let bytes = try await entry.body.bytes(in: Int64(range.lowerBound)..<Int64(range.upperBound))
            #expect(bytes == body[range] && bytes.startIndex == 0)
        }
    }

    @Test func variantsAreSeparate() async throws {
        let storage = storage()
        for (name, count) in [("de", 1), ("fr", 2), ("it", 3), ("fr", 4)] {
            try await Samples.store(Samples.body(count), in: storage, Samples.language(name))
        }
        #expect(try await Samples.bodies(in: storage).map(\.count) == [1, 4, 3])
        let entries = try await storage.entries(for: Samples.key)
        try #require(!entries.isEmpty)
        try await storage.remove(entries[0], for: Samples.key)
        #expect(try await Samples.bodies(in: storage).map(\.count) == [3, 4])
        try await storage.remove(entries[0], for: Samples.key)
        #expect(try await storage.usage.count == 2)
        try await storage.removeEntries(for: Samples.key)
        #expect(try await Samples.bodies(in: storage).isEmpty)
        #expect(try await storage.usage == CacheUsage(count: 0, size: 0))
        #expect(Samples.files(in: folder).isEmpty)
    }

    @Test func theNumberOfVariantsIsBounded() async throws {
        let storage = storage()
        for number in 0..<40 {
            let fields: HTTPFields = [.vary: "accept-language"]
            let head = Samples.head(
                fields, request: [.acceptLanguage: "x\(number)"], at: 784_111_777 + Double(number))
            try await Samples.store(Samples.body(number + 1), in: storage, head)
        }
        let counts = try await Samples.bodies(in: storage).map(\.count)
        #expect(Set(counts) == Set(9...40))
        #expect(try await storage.usage.count == 32)
    }

    @Test(arguments: [10, 2000]) func theHeadIsReplaced(_ length: Int) async throws {
        let storage = storage()
        let body = Samples.body(200_000)
        try await Samples.store(body, in: storage)
        for number in 0..<5 {
            let entry = try #require(try await storage.entries(for: Samples.key).first)
            let head = Samples.head([.eTag: String(repeating: "\(number)", count: length)])
            try await storage.update(entry, for: Samples.key, to: head)
            let updated = try #require(try await storage.entries(for: Samples.key).first)
            #expect(updated.head == head)
            #expect(updated.id == entry.id)
        }
        #expect(try await Samples.bodies(in: storage) == [body])
        #expect(Samples.files(in: folder).count == 1)
        #expect(try await storage.usage.size == Int64(WholeFile.size(path: Samples.file(in: folder))))
    }

    @Test func anUpdateOfAReplacedEntryChangesNothing() async throws {
        let storage = storage()
        try await Samples.store(Samples.body(1), in: storage)
        let old = try #require(try await storage.entries(for: Samples.key).first)
        try await Samples.store(Samples.body(2), in: storage)
        try await storage.update(old, for: Samples.key, to: Samples.head([.eTag: "x"]))
        try await storage.remove(old, for: Samples.key)
        let entry = try #require(try await storage.entries(for: Samples.key).first)
        #expect(entry.body.length == 2)
        #expect(entry.head == Samples.head())
    }

    @Test func anUpdateMayTakeAnotherVariantsPlace() async throws {
        let storage = storage()
        for (name, count) in [("de", 1), ("fr", 2), ("it", 3)] {
            try await Samples.store(Samples.body(count), in: storage, Samples.language(name))
        }
        let entry = try #require(try await storage.entries(for: Samples.key).last)
        try await storage.update(entry, for: Samples.key, to: Samples.language("de"))
        let entries = try await storage.entries(for: Samples.key)
        #expect(Set(entries.map { "\($0.head.variant) \($0.body.length)" }).count == 2)
        #expect(Set(entries.map(\.body.length)) == [2, 3])
        #expect(try await storage.usage.count == 2)
    }

    @Test func whatIsNotCompleteLeavesNothing() async throws {
        let storage = storage()
        for size in [10, 3_000_000] {
            let writer = try await storage.makeWriter(for: Samples.key, Samples.head(), length: nil)
            try await writer.write(Samples.body(size))
            await writer.discard()
        }
        #expect(Samples.files(in: folder).isEmpty)
        #expect(try await storage.entries(for: Samples.key).isEmpty)
        #expect(try await storage.usage == CacheUsage(count: 0, size: 0))
    }

    @Test func keysAreListed() async throws {
        let storage = storage()
        #expect(try await Samples.keys(of: storage).isEmpty)
        for number in 0..<20 { try await Samples.store(Data(), CacheKey(url: "\(number)"), in: storage) }
        #expect(try await Samples.keys(of: storage) == Set((0..<20).map { "\($0)" }))
        try await storage.removeAll()
        #expect(try await Samples.keys(of: storage).isEmpty)
        #expect(try await storage.usage.count == 0)
    }

    // MARK: Bounds

    @Test func theLeastRecentlyUsedEntriesAreRemovedFirst() async throws {
        let storage = storage(maximumCount: 10)
        for number in 0..<10 { try await Samples.store(Data(), CacheKey(url: "\(number)"), in: storage) }
        await storage.settle()
        #expect(try await storage.entries(for: CacheKey(url: "0")).count == 1)
        try await Samples.store(Data(), CacheKey(url: "10"), in: storage)
        await storage.settle()
        #expect(try await Samples.keys(of: storage) == ["0", "3", "4", "5", "6", "7", "8", "9", "10"])
        #expect(try await storage.usage.count == 9)
    }

    @Test func theBytesAreBounded() async throws {
        let storage = storage(maximumSize: 200_000)
        for number in 0..<30 {
            try await Samples.store(Samples.body(50_000), CacheKey(url: "\(number)"), in: storage)
            await storage.settle()
            #expect(try await storage.usage.size <= 200_000)
        }
        #expect(try await Samples.keys(of: storage) == ["27", "28", "29"])
        await #expect(throws: DiskCacheStorage.TooLarge.self) {
            try await Samples.store(Samples.body(100_001), in: storage)
        }
        await #expect(throws: DiskCacheStorage.TooLarge.self) {
            try await storage.makeWriter(for: Samples.key, Samples.head(), length: 100_001)
        }
    }

    /// The system's clock was ahead when the files were stored, and has been set back.
    @Test func theOrderOfUsesOutlivesAClockThatIsSetBack() async throws {
        let first = storage(maximumCount: 10)
        try await Samples.prepare(first)
        for number in 0..<10 { try await Samples.store(Data(), CacheKey(url: "\(number)"), in: first) }
        await first.close()
        try FileManager.default.removeItem(atPath: "\(folder.path)/entries-1/index")
        for path in Samples.files(in: folder) {
            let date = Date(timeIntervalSince1970: 4_000_000_000)
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
        }
        let second = storage(maximumCount: 10)
        // The storage becomes the owner, and reads the folder.
        _ = try await second.entries(for: CacheKey(url: "0"))
        await second.settle()
        _ = try await second.entries(for: CacheKey(url: "0"))
        try await Samples.store(Data(), CacheKey(url: "10"), in: second)
        await second.settle()
        let keys = try await Samples.keys(of: second)
        #expect(keys.count == 9 && keys.isSuperset(of: ["0", "10"]))
    }

    @Test func instantsOfUsesNeverGoBack() {
        var clock = RecencyClock()
        var instants: [UInt64] = []
        for now in [100, 100, 50, 200] as [UInt64] { instants.append(clock.next(at: now)) }
        // The instants of files count, too.
        for known in [300, 250] as [UInt64] { clock.pass(known) }
        for now in [201, 400] as [UInt64] { instants.append(clock.next(at: now)) }
        #expect(instants == [100, 101, 102, 200, 301, 400])
        clock.pass(.max)
        let (one, other) = (clock.next(at: 401), clock.next(at: 402))
        #expect(one < other)
    }

    @Test func anIndexHasAllItsRecords() throws {
        var index = DiskCacheIndex()
        var expected: [CacheFileName: Int64] = [:]
        var random = SystemRandomNumberGenerator()
        for number in 0..<5000 {
            let name = CacheFileName(high: 7, low: UInt64.random(in: 0..<2000, using: &random))
            if number % 3 == 0 {
                index.remove(name, slot: 1)
                expected[name] = nil
            } else {
                index.insert(.init(name: name, slot: 1, size: Int64(number), lastUse: 5))
                expected[name] = Int64(number)
            }
        }
        #expect(index.count == expected.count)
        #expect(index.size == expected.values.reduce(0, +))
        for (name, size) in expected { #expect(index.record(name, slot: 1)?.size == size) }
        #expect(Set(index.records.map(\.name)) == Set(expected.keys))
        #expect(index.record(CacheFileName(high: 7, low: 5000), slot: 1) == nil)
    }

    // MARK: Owners

    @Test func oneStorageOwnsAFolder() async throws {
        let (first, second) = (storage(maximumCount: 10), storage(maximumCount: 10))
        try await Samples.prepare(first)
        for number in 0..<5 { try await Samples.store(Data(), CacheKey(url: "a\(number)"), in: first) }
        for number in 0..<15 { try await Samples.store(Data(), CacheKey(url: "b\(number)"), in: second) }
        await second.settle()
        #expect([first.isOwner, second.isOwner] == [true, false])
        #expect(try await second.usage.count == 20)
        #expect(try await first.entries(for: CacheKey(url: "b3")).count == 1)
        await first.settle()
        #expect(try await first.usage.count == 9)
        #expect(try await second.usage.count == 9)
        await first.close()
        for _ in 0..<64 { _ = try await second.entries(for: CacheKey(url: "b3")) }
        _ = try await second.entries(for: CacheKey(url: "b3"))
        #expect(second.isOwner)
    }

    @Test func aStorageStoresLittleThatItsOwnerDoesNotSee() async throws {
        let (first, second) = (storage(maximumSize: 800_000), storage(maximumSize: 800_000))
        try await Samples.prepare(first)
        try await Samples.store(Data(), in: first)
        for number in 0..<3 { try await Samples.store(Samples.body(30_000), CacheKey(url: "\(number)"), in: second) }
        await #expect(throws: FileFailure.self) {
            try await Samples.store(Samples.body(30_000), CacheKey(url: "3"), in: second)
        }
        await first.settle()
        try await Samples.store(Samples.body(30_000), CacheKey(url: "3"), in: second)
        #expect(try await Samples.keys(of: second).count == 5)
    }

    @Test(arguments: [true, false]) func theIndexIsReadOrRebuilt(_ isSaved: Bool) async throws {
        let first = storage()
        try await Samples.prepare(first)
        for number in 0..<20 { try await Samples.store(Samples.body(number), CacheKey(url: "\(number)"), in: first) }
        let usage = try await first.usage
        await first.close()
        let path = "\(folder.path)/entries-1/index"
        var bytes = try Data(contentsOf: URL(filePath: path))
        if !isSaved {
            bytes[40] ^= 1
            try bytes.write(to: URL(filePath: path))
        }
        let second = storage()
        _ = try await second.entries(for: CacheKey(url: "0"))
        #expect(!FileManager.default.fileExists(atPath: path))
        await second.settle()
        #expect(try await second.usage == usage)
    }

    /// The ownership ends while the file of an entry is on the way to its place.
    @Test func aFileThatIsStoredWhileTheIndexIsSavedIsCounted() async throws {
        let first = storage()
        try await Samples.store(Samples.body(1), in: first)
        await first.settle()
        let isHeld = LoopbackServer.Gate(), mayEnd = DispatchSemaphore(value: 0)
        let handler: FileOperationHook.Handler = { operation, moment in
            guard case .rename = operation, moment == .before else { return nil }
            isHeld.open()
            mayEnd.waitForTest()
            // The rename may be tried again, after its folder was created.
            mayEnd.signal()
            return nil
        }
        let store = Task {
            try await FileOperationHook.$handler.withValue(handler) {
                try await Samples.store(Samples.body(2), CacheKey(url: "b"), in: first)
            }
        }
        try await isHeld.opened()
        await first.close()
        mayEnd.signal()
        try await store.value
        let second = storage()
        _ = try await second.entries(for: Samples.key)
        await second.settle()
        #expect(second.isOwner)
        #expect(try await second.usage.count == 2)
    }

    /// The head of a stream is about to be delivered while another task opens the folder, on a disk that takes its time.
    @Test func theQuestionWhetherTheFolderIsOpenDoesNotWaitForItsOpening() async throws {
        let storage = storage()
        let isHeld = LoopbackServer.Gate(), mayEnd = DispatchSemaphore(value: 0)
        let handler: FileOperationHook.Handler = { operation, moment in
            guard case .lock = operation, moment == .before else { return nil }
            isHeld.open()
            // A question that waits ends with the answer that the folder is open.
            mayEnd.waitForTest()
            mayEnd.signal()
            return nil
        }
        let opening = Task {
            try await FileOperationHook.$handler.withValue(handler) { try await storage.open() }
        }
        try await isHeld.opened()
        #expect(!storage.isOpen)
        mayEnd.signal()
        try await opening.value
        #expect(storage.isOpen && storage.isOwner)
        await storage.close()
        #expect(!storage.isOpen)
    }

    /// A file with a larger head is about to take the place of the one that another process removes.
    @Test(arguments: [false, true]) func anUpdateBringsNothingBackThatWasRemoved(_ isAll: Bool) async throws {
        let (first, second) = (storage(), storage())
        try await Samples.store(Samples.body(1), in: first)
        // The background work holds locks that an update needs.
        await first.settle()
        let entry = try #require(try await first.entries(for: Samples.key).first)
        let isHeld = LoopbackServer.Gate(), isRemoved = LoopbackServer.Gate(), mayEnd = DispatchSemaphore(value: 0)
        let holding: FileOperationHook.Handler = { operation, moment in
            guard case .rename = operation, moment == .before else { return nil }
            isHeld.open()
            mayEnd.waitForTest()
            mayEnd.signal()
            return nil
        }
        let watching: FileOperationHook.Handler = { operation, moment in
            if case .remove(let path) = operation, moment == .after, path.hasSuffix("-0") { isRemoved.open() }
            return nil
        }
        let update = Task {
            try await FileOperationHook.$handler.withValue(holding) { () async throws in
                let head = Samples.head([.eTag: String(repeating: "x", count: 2000)])
                try await first.update(entry, for: Samples.key, to: head)
            }
        }
        try await isHeld.opened()
        let removal = Task {
            try await FileOperationHook.$handler.withValue(watching) { () async throws in
                if isAll { try await second.removeAll() } else { try await second.removeEntries(for: Samples.key) }
            }
        }
        try await isRemoved.opened()
        mayEnd.signal()
        try await update.value
        try await removal.value
        #expect(Samples.files(in: folder).isEmpty)
        #expect(try await first.entries(for: Samples.key).isEmpty)
    }

    @Test func aFolderThatVanishesIsCreatedAgain() async throws {
        let (storage, other) = (storage(), storage())
        try await Samples.prepare(storage)
        try await Samples.store(Samples.body(1), in: storage)
        try FileManager.default.removeItem(atPath: folder.path)
        #expect(try await storage.entries(for: Samples.key).isEmpty)
        try await Samples.store(Samples.body(2), in: storage)
        #expect(try await Samples.bodies(in: storage).map(\.count) == [2])
        // The lock of the new folder is another one.
        try await Samples.store(Samples.body(3), CacheKey(url: "b"), in: other)
        await storage.settle()
        _ = try await storage.entries(for: Samples.key)
        #expect([storage.isOwner, other.isOwner] == [false, true])
    }
}
