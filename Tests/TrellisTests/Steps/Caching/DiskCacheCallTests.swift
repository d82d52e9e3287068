import CurlEngine
import Foundation
import HTTPTypes
import Testing
import TrellisTesting

@testable import Trellis

/// The calls of sessions whose responses are on a disk.
struct DiskCacheCallTests {
    private typealias World = CacheWorld

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
            for try await chunk in stream.body { read += chunk }
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
            if case .write = operation, moment == .before { return FileReader.Failure(why: "No space left on device") }
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
        let text = "the cache in \(folder.path) cannot be used: No space left on device"
        #expect(failures.withLock { $0 } == [text])
        await close(world)
    }

    @Test func aDamagedBodyIsRequestedAgain() async throws {
        let body = DiskSamples.body(500_000)
        let world = world { _ in MockResponse(headers: [.cacheControl: "max-age=60"], body: body) }
        _ = try await world.session.data(World.url)
        let path = DiskSamples.files(in: folder)[0]
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
