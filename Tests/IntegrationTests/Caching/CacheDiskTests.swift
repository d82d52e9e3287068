import CurlEngine
import Foundation
import Glibc
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// Folders of a cache on file systems that are really full, read-only or gone: each response has the bytes of the server, and the first of
/// adjacent failures is an event.
@Suite(
    .timeLimit(.minutes(3)),
    .enabled(if: SmallDisk.isAvailable, "mounting needs root; operations that fail stand for it"))
struct CacheDiskTests {
    /// A session with a cache on a disk, its server, and the failures that it has told.
    private final class World: Sendable {
        let session: Session
        let storage: DiskCacheStorage
        let server: LoopbackServer
        private let told = Locked<[String]>([])

        init(_ path: String) throws {
            let storage = DiskCacheStorage(directory: path)
            self.storage = storage
            var configuration = SessionConfiguration()
            configuration.steps.cache = HTTPCache(storage: storage)
            configuration.eventMonitors.append(
                ClosureEventMonitor { [told] event in
                    guard case .cacheFailed(let error) = event.kind else { return }
                    told.withLock { $0.append("\(error)") }
                })
            session = Session(configuration: configuration)
            server = try LoopbackServer.http { request in
                .init(headers: [.cacheControl: "max-age=600"], body: CacheDiskTests.body(request.path))
            }
        }

        /// Sends a request, checks the bytes of its response, and returns the cache status.
        func get(_ path: String, _ method: HTTPRequest.Method = .get) async throws -> CacheStatus {
            let (data, response) = try await session.data(Request(server.url(path), method: method))
            #expect(data == CacheDiskTests.body(path))
            return try #require(response.cacheStatus)
        }

        /// Reads a response as a stream, checks its bytes, and returns the cache status at the end.
        func stream(_ path: String) async throws -> CacheStatus {
            let stream = try await session.stream(server.url(path))
            var data = Data()
            for try await chunk in stream.chunks { data += chunk }
            #expect(data == CacheDiskTests.body(path))
            return try #require(try await stream.finalResponse().cacheStatus)
        }

        /// Ends the session, and returns the failures that it has told.
        func failures() async -> [String] {
            await session.shutdown(drainingFor: .seconds(10))
            await storage.close()
            return told.withLock { $0 }
        }
    }

    /// Returns the body of a URL whose path is a number: 100,000 bytes, or 3,000,000 from 1000 on.
    private static func body(_ path: String) -> Data {
        let number = UInt64(path.dropFirst()) ?? 0
        return noise(number < 1000 ? 100_000 : 3_000_000, seed: number + 1)
    }

    /// Returns the paths of the entries' files.
    private func files(_ path: String) -> [String] {
        let names = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
        return names.filter { $0.contains("-") && $0.split(separator: "/").count == 3 }.map { "\(path)/\($0)" }
    }

    // MARK: Full

    @Test func aFullDiskEndsNoRequest() async throws {
        let disk = try SmallDisk(kilobytes: 1 << 10)
        let path = disk.folder("cache")
        let world = try World(path)
        var stored: [Bool] = []
        for number in 1...20 { stored.append(try await world.get("/\(number)").isStored) }
        let count = stored.count { $0 }
        // Ten bodies are more than there is room for.
        #expect(stored[0] && count > 5 && count < 11 && files(path).count == count)
        #expect(try await world.stream("/1000").isStored == false)
        // The stored ones are still used, and nothing is left of the others.
        for number in 1...20 { #expect(try await world.get("/\(number)").isHit == stored[number - 1]) }
        // The last one may be about to be removed.
        while try FileManager.default.contentsOfDirectory(atPath: "\(path)/entries-1/new") != [] {
            try Task.checkCancellation()
            await Task.yield()
        }
        // There is room again after files were removed, whatever has removed them.
        for file in files(path) { try FileManager.default.removeItem(atPath: file) }
        #expect(try await world.get("/30").isStored)
        #expect(try await world.get("/30").isHit)
        let failures = await world.failures()
        #expect(failures == ["\(path) cannot be used: No space left on device"])
    }

    // MARK: Read-only

    @Test func aDiskThatBecomesReadOnlyIsStillRead() async throws {
        let disk = try SmallDisk(kilobytes: 1 << 10)
        let path = disk.folder("cache")
        let world = try World(path)
        for number in 1...2 { #expect(try await world.get("/\(number)").isStored) }
        // The lock of the owner is a file that is open for writing, with which the disk would be busy.
        await world.storage.close()
        while (try? disk.remount("ro")) == nil, !Task.isCancelled { await Task.yield() }
        #expect(try await world.get("/1").isHit)
        #expect(try await world.get("/3").detail == "storage")
        #expect(try await world.get("/4").detail == "storage")
        // A response that is no longer valid, and cannot be removed, is not used.
        _ = try await world.get("/2", .put)
        #expect(try await world.get("/2").forwardReason == .uriMiss)
        // Nor is that a reason not to use others.
        #expect(try await world.get("/1").isHit)
        try disk.remount("rw")
        for number in 2...3 {
            #expect(try await world.get("/\(number)").isStored)
            #expect(try await world.get("/\(number)").isHit)
        }
        let failures = await world.failures()
        #expect(failures == ["\(path) cannot be used: Read-only file system"])
    }

    @Test func aReadOnlyDiskIsReadByANewProcess() async throws {
        let disk = try SmallDisk(kilobytes: 1 << 10)
        let path = disk.folder("cache")
        let first = try World(path)
        #expect(try await first.get("/1").isStored)
        let url = first.server.url("/1")
        #expect(await first.failures() == [])
        while (try? disk.remount("ro")) == nil, !Task.isCancelled { await Task.yield() }
        // A storage of its own, as that of another process.
        var configuration = SessionConfiguration()
        configuration.steps.cache = HTTPCache(storage: DiskCacheStorage(directory: path))
        let (data, response) = try await Session(configuration: configuration).data(url)
        #expect(data == Self.body("/1") && response.cacheStatus?.isHit == true)
    }

    // MARK: Gone

    /// The file system is unmounted, and the folder that it was mounted at is removed.
    @Test func aDiskThatIsGoneEndsNoRequest() async throws {
        var disk: SmallDisk? = try SmallDisk(kilobytes: 8 << 10)
        let mountPoint = try #require(disk?.folder.path)
        defer { try? FileManager.default.removeItem(atPath: mountPoint) }
        let world = try World("\(mountPoint)/cache")
        #expect(try await world.get("/1").isStored)
        #expect(try await world.stream("/1000").isStored)
        // The background work could make the folder again.
        await world.storage.settle()
        disk = nil
        #expect(!FileManager.default.fileExists(atPath: mountPoint))
        #expect(try await world.get("/1").forwardReason == .uriMiss)
        #expect(try await world.stream("/1000").forwardReason == .uriMiss)
        // The folder is made again.
        #expect(try await world.get("/1").isHit)
        _ = await world.failures()
    }

    // MARK: Another user's

    @Test(.enabled(if: geteuid() == 0, "needs root")) func aFolderOfAnotherUserIsNotBelieved() async throws {
        let disk = try SmallDisk(kilobytes: 1 << 10)
        let path = disk.folder("cache")
        let world = try World(path)
        #expect(try await world.get("/1").isStored)
        let names = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
        for name in [path] + names.map({ "\(path)/\($0)" }) {
            #expect(unsafe chown(name, 65_534, 65_534) == 0)
        }
        #expect(try await world.get("/1").forwardReason == .uriMiss)
        #expect(try await world.get("/1").isHit)
        #expect(world.server.requests.count == 2)
        _ = await world.failures()
    }
}
