import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// The calls of sessions whose responses are on a disk.
@Suite(.timeLimit(.minutes(3)))
struct DiskCacheCallTests {
    private typealias World = CacheWorld

    /// A folder in which nothing can be removed.
    private static let refusingRemovals: FileOperationHook.Handler = { operation, moment in
        if case .remove = operation, moment == .before { return FileError(reason: "Read-only file system") }
        return nil
    }

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func world(
        _ change: (inout SessionConfiguration) -> Void = { _ in }, _ handler: @escaping MockTransport.Handler
    ) -> World {
        World(storage: DiskCacheStorage(directory: folder.path), change, handler)
    }

    private func close(_ world: World) async {
        if let storage = world.cache.storage as? DiskCacheStorage { await storage.close() }
    }

    @Test func responsesOutliveTheirSession() async throws {
        let world = world { _ in World.response("one", [.cacheControl: "max-age=60", .eTag: "\"1\""]) }
        #expect(try await world.get() == ["one", "trellis; fwd=uri-miss; ttl=60; stored"])
        await close(world)
        let second = self.world { request in
            #expect(request.headers[.ifNoneMatch] == "\"1\"")
            return World.response("", status: 304, [.cacheControl: "max-age=120"])
        }
        #expect(try await second.get() == ["one", "trellis; hit; ttl=60"])
        second.pass(70)
        #expect(try await second.get()[0] == "one")
        #expect(second.transport.requests.count == 1)
        await close(second)
        let third = self.world { _ in World.response("two") }
        third.pass(100)
        #expect(try await third.get() == ["one", "trellis; hit; ttl=90"])
        await close(third)
    }

    @Test func aLargeBodyIsStoredWhileItIsRead() async throws {
        let body = DiskSamples.body(3_000_000)
        let world = world { _ in MockResponse(headers: [.cacheControl: "max-age=60"], body: body) }
        for status in ["trellis; fwd=uri-miss; ttl=60; stored", "trellis; hit; ttl=60"] {
            let stream = try await world.session.stream(World.url)
            var read = Data()
            for try await chunk in stream.chunks { read += chunk }
            #expect(read == body)
            #expect(stream.response.cacheStatus?.description == status)
        }
        var request = Request(World.url)
        request.headers[.range] = "bytes=1000000-1999999"
        let (part, response) = try await world.session.data(request)
        #expect(response.status == .partialContent)
        #expect(part == body[1_000_000..<2_000_000])
        #expect(world.transport.requests.count == 1)
        await close(world)
    }

    @Test func aFullDiskEndsNoRequest() async throws {
        let failures = Locked<[String]>([])
        let world = world({ configuration in
            configuration.eventMonitors.append(
                ClosureEventMonitor { event in
                    if case .cacheFailed(let error) = event.kind { failures.withLock { $0.append("\(error)") } }
                })
        }) { _ in World.response("one") }
        let handler: FileOperationHook.Handler = { operation, moment in
            if case .write = operation, moment == .before { return FileError(reason: "No space left on device") }
            return nil
        }
        try await FileOperationHook.$handler.withValue(handler) { () async throws in
            for _ in 1...3 {
                let result = try await world.get()
                #expect(result == ["one", "trellis; fwd=uri-miss; ttl=60; detail=storage"])
            }
        }
        #expect(try await world.get()[1] == "trellis; fwd=uri-miss; ttl=60; stored")
        #expect(try await world.get()[1] == "trellis; hit; ttl=60")
        #expect(world.cache.statistics.failureCount == 3)
        await (try world.session).shutdown(drainingFor: .seconds(10))
        let text = "\(folder.path) cannot be used: No space left on device"
        #expect(failures.withLock { $0 } == [text])
        await close(world)
    }

    // MARK: Removals that fail

    /// A response that is no longer valid is not used, although it could not be removed (RFC 9111, section 4.4).
    @Test func anInvalidResponseThatCannotBeRemovedIsNotUsed() async throws {
        let world = world { _ in World.response("one") }
        _ = try await world.get()
        try await FileOperationHook.$handler.withValue(Self.refusingRemovals) { () async throws in
            #expect(try await world.get(Request(World.url, method: .post))[1] == "trellis; fwd=method")
            #expect(try await world.get()[1] == "trellis; fwd=uri-miss; ttl=60; stored")
            #expect(try await world.get()[1] == "trellis; fwd=uri-miss; ttl=60; stored")
        }
        #expect(world.cache.invalidKeys.contains(CacheKey(url: World.url)))
        // The removal is tried again, and succeeds.
        #expect(try await world.get()[1] == "trellis; fwd=uri-miss; ttl=60; stored")
        #expect(try await world.get()[1] == "trellis; hit; ttl=60")
        #expect(!world.cache.invalidKeys.contains(CacheKey(url: World.url)))
        #expect(world.cache.statistics.failureCount == 1)
        await close(world)
    }

    @Test(arguments: ["one", "some", "all"]) func aRemovalThatFailsIsTold(_ way: String) async throws {
        let world = world { _ in World.response("one") }
        _ = try await world.get()
        await FileOperationHook.$handler.withValue(Self.refusingRemovals) {
            await #expect(throws: FileFailure.self) {
                switch way {
                case "one": try await world.cache.remove(World.url)
                case "some": try await world.cache.removeAll { $0.url.hasPrefix("http://localhost/") }
                default: try await world.cache.removeAll()
                }
            }
        }
        #expect(try await world.storedCount == 1)
        #expect(try await world.get()[1] == "trellis; fwd=uri-miss; ttl=60; stored")
        #expect(try await world.get()[1] == "trellis; hit; ttl=60")
        await close(world)
    }

    @Test func theKeysThatAreNotUsedAreBounded() {
        let keys = InvalidKeys()
        for number in 0..<InvalidKeys.maximumCount { keys.insert(CacheKey(url: "\(number)")) }
        #expect(!keys.areAll && keys.contains(CacheKey(url: "0")) && !keys.contains(CacheKey(url: "x")))
        keys.remove(CacheKey(url: "0"), upTo: keys.lastMark)
        #expect(!keys.contains(CacheKey(url: "0")))
        for name in ["x", "y"] { keys.insert(CacheKey(url: name)) }
        #expect(keys.areAll && keys.contains(CacheKey(url: "0")))
        keys.removeAll(upTo: keys.lastMark)
        #expect(!keys.areAll && !keys.contains(CacheKey(url: "x")))
    }

    // MARK: Threads

    /// The work with files is done neither on a session's thread nor on the pool of Swift's tasks.
    @Test(arguments: [false, true]) func filesAreUsedOnThreadsThatMayWait(_ isOnEngine: Bool) async throws {
        let names = Locked<Set<String>>([])
        let operations = Locked<Set<String>>([])
        // The body is read apart from the head, when the response is used.
        let text = String(repeating: "one", count: 100_000)
        let handler: FileOperationHook.Handler = { operation, moment in
            guard moment == .before else { return nil }
            let name = FileManager.default.contents(atPath: "/proc/thread-self/comm") ?? Data()
            names.withLock { _ = $0.insert(String(decoding: name, as: UTF8.self)) }
            operations.withLock { _ = $0.insert(String("\(operation)".prefix { $0 != "(" })) }
            return nil
        }
        let world = world { request in
            request.headers.contains(.ifNoneMatch)
                ? World.response("", status: 304, [.eTag: "\"1\""])
                : World.response(text, [.cacheControl: "max-age=60", .eTag: "\"1\""])
        }
        let executor = try isOnEngine ? world.session.executor : nil
        try await FileOperationHook.$handler.withValue(handler) { () async throws in
            try await Task(executorPreference: executor) {
                _ = try await world.get()
                world.pass(61)
                #expect(try await world.get()[0] == text)
                let part = Request(World.url, headers: [.range: "bytes=200000-200002"])
                #expect(try await world.get(part)[0].count == 3)
                for try await _ in world.cache.storage.keys {}
                // The background work holds locks that the removal of damaged files needs.
                await (world.cache.storage as? DiskCacheStorage)?.settle()
                // The damage is found when the entry is read, and its file is removed on the same thread.
                try Data().write(to: URL(filePath: DiskSamples.file(in: folder)))
                _ = try await world.get()
                _ = try await world.get(Request(World.url, method: .post))
                try await world.cache.removeAll()
                await close(world)
            }.value
        }
        #expect(names.withLock { $0 } == ["trellis-block\n"])
        #expect(operations.withLock { $0 } == ["write", "rename", "remove", "open", "read", "close", "list", "lock"])
    }

    @Test func aDamagedBodyIsRequestedAgain() async throws {
        let body = DiskSamples.body(500_000)
        let world = world { _ in MockResponse(headers: [.cacheControl: "max-age=60"], body: body) }
        _ = try await world.session.data(World.url)
        let path = try DiskSamples.file(in: folder)
        var bytes = try Data(contentsOf: URL(filePath: path))
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: URL(filePath: path))
        let (data, response) = try await world.session.data(World.url)
        #expect(data == body)
        #expect(response.cacheStatus?.description == "trellis; fwd=uri-miss; ttl=60; stored")
        #expect(try await world.session.data(World.url).1.cacheStatus?.isHit == true)
        await close(world)
    }
}
