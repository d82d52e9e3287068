import CurlEngine
import Foundation
import Glibc
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// Clocks, lifetimes and folders that no cache should meet, and that every cache meets.
@Suite(.timeLimit(.minutes(3)))
struct CacheBadInputTests {
    private typealias World = CacheWorld
    private typealias Samples = DiskSamples

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    // MARK: Time

    /// A response is not fresh because the clock was set back: its age is not known then.
    @Test(arguments: [false, true]) func aClockThatJumpsMakesNothingFresh(_ isOnDisk: Bool) async throws {
        let world = World(storage: folder.cacheStorage(isOnDisk: isOnDisk)) { _ in World.response("a") }
        #expect(try await world.get()[1] == "trellis; fwd=uri-miss; ttl=60; stored")
        world.pass(1_000_000)
        #expect(try await world.get()[1] == "trellis; fwd=stale; ttl=60; stored")
        world.pass(-2_000_000)
        #expect(try await world.get()[1] == "trellis; fwd=stale; ttl=60; stored")
        #expect(try await world.get()[1] == "trellis; hit; ttl=60")
        // By a little, as a clock is adjusted.
        world.pass(-3)
        #expect(try await world.get()[1] == "trellis; hit; ttl=60")
        #expect(world.transport.requests.count == 3)
    }

    @Test(arguments: [false, true]) func aFreshnessWithoutAnEndHasALimit(_ isOnDisk: Bool) async throws {
        let world = World(storage: folder.cacheStorage(isOnDisk: isOnDisk)) { _ in
            World.response("a", [.cacheControl: "max-age=1\(String(repeating: "0", count: 30)), stale-if-error=1e30"])
        }
        #expect(try await world.get()[1] == "trellis; fwd=uri-miss; ttl=2147483648; stored")
        #expect(try await world.get()[1] == "trellis; hit; ttl=2147483648")
        // More than 68 years later.
        world.pass(2_147_483_649)
        #expect(try await world.get()[1] == "trellis; fwd=stale; ttl=2147483648; stored")
    }

    @Test(arguments: [
        "Fri, 31 Dec 9999 23:59:59 GMT", "Sun, 06 Nov 1994 08:49:38 GMT", "Thu, 01 Jan 1970 00:00:00 GMT",
        "Mon, 01 Jan 0000 00:00:00 GMT",
    ])
    func datesAtTheEndsAreUsable(_ date: String) async throws {
        let world = World { _ in
            World.response("a", [.date: date, .expires: date, .lastModified: date, .age: "9223372036854775807"])
        }
        for _ in 1...3 {
            #expect(try await world.get()[0] == "a")
            world.pass(1e9)
        }
        #expect(world.transport.requests.count == 3)
    }

    @Test func anEntryFromTheFutureIsValidated() async throws {
        let storage = DiskCacheStorage(directory: folder.path)
        let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\""]
        let key = CacheKey(url: World.url)
        try await Samples.store(Data("a".utf8), key, in: storage, Samples.head(fields, at: 784_111_777 + 1e6))
        let world = World(storage: storage) { request in
            #expect(request.headers[.ifNoneMatch] == "\"1\"")
            return World.response("", status: 304, [.cacheControl: "max-age=60"])
        }
        #expect(try await world.get() == ["a", "trellis; fwd=stale; fwd-status=304; ttl=60; stored"])
        #expect(try await world.get() == ["a", "trellis; hit; ttl=60"])
    }

    // MARK: Files

    /// Changes words of a file's beginning, and makes the checksum fit.
    private func rewrite(_ path: String, _ change: (inout Data) -> Void) throws {
        var bytes = try Data(contentsOf: URL(filePath: path))
        change(&bytes)
        let checksum = Checksum64.of(Data(bytes.prefix(32)).bytes)
        for index in 0..<8 { bytes[32 + index] = UInt8(truncatingIfNeeded: checksum >> UInt64(8 * index)) }
        try bytes.write(to: URL(filePath: path))
    }

    /// A file of another version is a miss, and so is one whose head would be larger than any.
    @Test(arguments: [8, 15]) func aFileOfAnotherVersionIsAMiss(_ offset: Int) async throws {
        let storage = DiskCacheStorage(directory: folder.path)
        try await Samples.store(Samples.body(100), in: storage)
        await storage.settle()
        let path = try Samples.file(in: folder)
        try rewrite(path) { _ in }
        #expect(try await Samples.bodies(in: storage) == [Samples.body(100)])
        try rewrite(path) { $0[offset] = 0x7F }
        #expect(try await storage.entries(for: Samples.key).isEmpty)
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test(.enabled(if: geteuid() == 0, "needs root")) func filesOfAnotherUserAreNotRead() async throws {
        let storage = DiskCacheStorage(directory: folder.path)
        try await Samples.store(Samples.body(100), in: storage)
        await storage.settle()
        let path = try Samples.file(in: folder)
        #expect(unsafe chown(path, 65_534, 65_534) == 0)
        #expect(try await storage.entries(for: Samples.key).isEmpty)
        try await Samples.store(Samples.body(50), in: storage)
        #expect(try await Samples.bodies(in: storage) == [Samples.body(50)])
    }

    /// Requests are sent, and what is stored is used, when the folder takes nothing any more.
    @Test func aFolderThatTakesNothingEndsNoRequest() async throws {
        let world = World(storage: DiskCacheStorage(directory: folder.path)) { request in
            World.response(request.url)
        }
        _ = try await world.get()
        let handler: FileOperationHook.Handler = { operation, moment in
            moment == .before && operation.isChange ? FileError(reason: "Read-only file system") : nil
        }
        try await FileOperationHook.$handler.withValue(handler) { () async throws in
            #expect(try await world.get() == [World.url, "trellis; hit; ttl=60"])
            let other = try await world.get(Request("http://localhost/b"))
            #expect(other == ["http://localhost/b", "trellis; fwd=uri-miss; ttl=60; detail=storage"])
        }
    }

    /// The folder vanishes while a response is stored, and between two requests.
    @Test func aFolderThatVanishesEndsNoRequest() async throws {
        let body = Samples.body(3_000_000)
        let folder = folder
        let world = World(storage: DiskCacheStorage(directory: folder.path)) { _ in
            MockResponse(headers: [.cacheControl: "max-age=60"]) { writer in
                try await writer.write(body.prefix(2_000_000))
                try? FileManager.default.removeItem(atPath: folder.path)
                try await writer.write(Data(body.dropFirst(2_000_000)))
            }
        }
        for _ in 1...2 {
            let stream = try await world.session.stream(World.url)
            var read = Data()
            for try await chunk in stream.chunks { read += chunk }
            #expect(read == body)
            try? FileManager.default.removeItem(atPath: folder.path)
        }
    }
}
