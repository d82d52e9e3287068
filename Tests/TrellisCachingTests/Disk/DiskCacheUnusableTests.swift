import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// A storage whose folder cannot be used, because a file has the place of the folder above it.
@Suite(.timeLimit(.minutes(3)))
struct DiskCacheUnusableTests {
    private typealias World = CacheWorld

    private let folder: TemporaryFolder
    private let storage: DiskCacheStorage

    init() throws {
        folder = try TemporaryFolder()
        try folder.write(Data(), to: "file")
        storage = DiskCacheStorage(directory: folder.path("file") + "/cache")
    }

    /// The head of a stream does not promise to store what cannot be stored.
    @Test func theStatusIsTheSameForAStreamAndForData() async throws {
        let world = World(storage: storage) { _ in World.response("one") }
        let status = "trellis; fwd=uri-miss; detail=storage"
        #expect(try await world.get() == ["one", status])
        let stream = try await world.session.stream(World.url)
        #expect(stream.response.cacheStatus?.description == status)
        for try await _ in stream.chunks {}
        let response = try await stream.finalResponse()
        #expect(response.cacheStatus?.description == status)
        #expect(world.cache.statistics.failureCount == 2)
    }

    /// A disk that hangs holds no call beyond its end.
    @Test(arguments: [1, 200 << 10])
    func aReadThatHangsIsNotWaitedFor(_ size: Int) async throws {
        let (folder, disk) = (try TemporaryFolder(), HangingDisk())
        // The clock stands still: the call does not go on without its disk.
        let world = World(storage: DiskCacheStorage(directory: folder.path), clock: TestClock()) { _ in
            World.response(String(repeating: "a", count: size))
        }
        _ = try await world.get()
        try await disk.hanging(at: HangingDisk.isReading) {
            let task = Task { try await world.get() }
            try await disk.isReached.opened()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        disk.goOn()
        #expect(try await world.get()[1] == "trellis; hit; ttl=60")
    }

    /// A storage that fails only at the end of a body is named as the reason, and not the reader, who has read everything.
    @Test func aStreamThatCouldNotBeStoredAtItsEndSaysSo() async throws {
        let folder = try TemporaryFolder()
        let storage = DiskCacheStorage(directory: folder.path)
        let world = World(storage: storage) { _ in World.response("one") }
        let handler: FileOperationHook.Handler = { operation, moment in
            if case .write = operation, moment == .before { return FileError(reason: "No space left on device") }
            return nil
        }
        try await FileOperationHook.$handler.withValue(handler) { () async throws in
            let stream = try await world.session.stream(World.url)
            for try await _ in stream.chunks {}
            let response = try await stream.finalResponse()
            #expect(response.cacheStatus?.description == "trellis; fwd=uri-miss; ttl=60; detail=storage")
        }
        await storage.close()
    }

    @Test func theOpeningFails() async throws {
        let error = await #expect(throws: FileFailure.self) { try await storage.open() }
        #expect(error?.path == storage.directory)
        let usable = DiskCacheStorage(directory: folder.path("new"))
        try await usable.open()
        #expect(usable.isOwner && folder.names.contains("new"))
        await usable.close()
    }

    /// The first failure is a line of the log, whatever its level.
    @Test(arguments: [RequestLog.Level.calls, .verbose, .headers, .bodies(limit: 9)]) func aLogTellsTheFirstFailure(
        _ level: RequestLog.Level
    ) async throws {
        let lines = Locked<[String]>([])
        let log = RequestLog(level) { line in lines.withLock { $0.append(line) } }
        let world = World(storage: storage, { $0.eventMonitors.append(log) }) { _ in World.response("one") }
        for _ in 1...3 { _ = try await world.get() }
        await world.shutDown()
        let told = lines.withLock { $0.filter { $0.contains("cache failed") } }
        #expect(told.count == 1)
        #expect(told.first?.contains("\(storage.directory) cannot be used: ") == true)
    }
}
