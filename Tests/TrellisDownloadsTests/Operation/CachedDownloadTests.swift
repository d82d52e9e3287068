import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore
@testable import TrellisDownloads

/// Downloads of sessions with a cache: what is stored is the file, and what is downloaded is stored.
@Suite(.timeLimit(.minutes(3)))
struct CachedDownloadTests {
    private typealias World = CacheWorld

    private static let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\"", .acceptRanges: "bytes"]
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Downloads to a new file. Returns its text, and the cache status.
    private func download(
        _ world: World, _ request: Request = Request(World.url), checksum: Checksum? = nil, connections: Int = 1
    ) async throws -> [String] {
        var options = DownloadOptions()
        options.connections = connections
        let download = try world.session.downloadRequest(
            request, to: .file(folder.path("f"), .removePreviousFile), checksum: checksum, options: options)
        let file = try await download.value
        let content = try #require(folder.content("f"))
        #expect(download.currentProgress.completedBytes == Int64(content.count))
        #expect(file.size == Int64(content.count) && folder.names == ["f"])
        let status = file.response.cacheStatus?.description
        #expect(file.metrics.cacheStatus != nil)
        // The text of a large file takes long to make.
        return [content.count > 100 ? "" : String(decoding: content, as: UTF8.self), status ?? "none"]
    }

    @Test func aStoredResponseIsTheFile() async throws {
        let world = World { _ in World.response("hello", Self.fields) }
        _ = try await world.get()
        let digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
        #expect(try await download(world, checksum: .sha256(digest)) == ["hello", "trellis; hit; ttl=60"])
        #expect(world.transport.requests.count == 1)
        let wrong = String(repeating: "0", count: 64)
        await #expect(throws: TrellisError.self) { try await download(world, checksum: .sha256(wrong)) }
        #expect(world.transport.requests.count == 1)
    }

    @Test func whatIsDownloadedIsStored() async throws {
        let world = World { _ in World.response("hello", Self.fields) }
        #expect(try await download(world) == ["hello", "trellis; fwd=uri-miss; ttl=60; stored"])
        #expect(try await world.get() == ["hello", "trellis; hit; ttl=60"])
        #expect(try await download(world) == ["hello", "trellis; hit; ttl=60"])
        #expect(world.transport.requests.count == 1)
    }

    @Test func aStaleResponseIsValidated() async throws {
        let world = World { request in
            request.headers[.ifNoneMatch] == "\"1\""
                ? World.response("", status: 304, Self.fields) : World.response("hello", Self.fields)
        }
        _ = try await world.get()
        world.pass(70)
        #expect(try await download(world) == ["hello", "trellis; fwd=stale; fwd-status=304; ttl=60; stored"])
        #expect(world.transport.requests.count == 2)
    }

    @Test func aStoredResponseIsNotRequestedInParts() async throws {
        let body = ScriptedDownload.largeFile
        let world = World { _ in
            var fields = Self.fields
            fields[.contentLength] = "\(body.count)"
            return MockResponse(headers: fields, body: body)
        }
        _ = try await world.session.data(World.url)
        #expect(try await download(world, connections: 4)[1] == "trellis; hit; ttl=60")
        let isComplete = folder.content("f") == body
        #expect(isComplete)
        #expect(world.transport.requests.count == 1)
    }

    @Test func aBodyThatTheStorageDoesNotTakeIsDownloaded() async throws {
        let world = World(storage: MemoryCacheStorage(maximumSize: 64 << 10, maximumBodySize: 4)) { _ in
            World.response("hello", Self.fields)
        }
        #expect(try await download(world)[0] == "hello")
        #expect(try await world.storedCount == 0)
    }

    @Test func aDownloadThatMustNotBeSentIsNotSent() async throws {
        let world = World { _ in World.response("hello", Self.fields) }
        var request = Request(World.url)
        request.cacheMode = .onlyIfCached
        await #expect(throws: TrellisError.self) { try await download(world, request) }
        #expect(world.transport.requests.isEmpty)
        _ = try await world.get()
        #expect(try await download(world, request) == ["hello", "trellis; hit; ttl=60"])
        #expect(world.transport.requests.count == 1)
    }

    @Test func theModesOfTheRequestCount() async throws {
        let world = World { _ in World.response("hello", Self.fields) }
        var request = Request(World.url)
        request.cacheMode = .noStore
        #expect(try await download(world, request)[1] == "trellis; fwd=bypass; detail=mode-no-store")
        #expect(try await world.storedCount == 0)
        _ = try await world.get()
        request.cacheMode = .reload
        #expect(try await download(world, request)[1] == "trellis; fwd=bypass; ttl=60; stored")
        #expect(world.transport.requests.count == 3)
    }

    /// The digest of a message's content is not that of a part that is cut from it.
    @Test func aPartOfAStoredResponseHasNotItsContentDigest() async throws {
        let digest = "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:"
        var fields = Self.fields
        for name in ["Content-Digest", "Repr-Digest"] {
            fields[try #require(HTTPField.Name(name))] = digest
        }
        let world = World { [fields] _ in World.response("hello", fields) }
        _ = try await world.get()
        #expect(try await download(world)[0] == "hello")
        var request = Request(World.url)
        request.headers[.range] = "bytes=1-3"
        #expect(try await download(world, request) == ["ell", "trellis; hit; ttl=60"])
        let (_, response) = try await world.session.data(request)
        #expect(response.headers["Content-Digest"] == nil && response.headers["Repr-Digest"] == digest)
        #expect(world.transport.requests.count == 1)
    }

    /// The content of a 304 is empty, and so is not that of the stored response.
    @Test func theDigestOfAnEmptyContentReplacesNone() async throws {
        let name = try #require(HTTPField.Name("Content-Digest"))
        let world = World { request in
            guard request.headers[.ifNoneMatch] != nil else {
                var fields = Self.fields
                fields[name] = "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:"
                return World.response("hello", fields)
            }
            var fields = Self.fields
            fields[name] = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"
            return World.response("", status: 304, fields)
        }
        _ = try await world.get()
        world.pass(70)
        #expect(try await download(world)[0] == "hello")
        #expect(world.transport.requests.count == 2)
    }

    // MARK: Resumption

    /// Downloads a part, and leaves it in the partial file.
    private func interrupt(_ world: ScriptedDownload) async throws {
        let (download, attempt) = try await world.start(.removePreviousFile)
        world.sendHead(attempt, [.cacheControl: "max-age=60"])
        try await world.receive(0..<4, attempt, download)
        download.cancel()
        await #expect(throws: TrellisError.self) { try await download.value }
    }

    @Test func aDownloadThatWasInterruptedIsNotStored() async throws {
        let cache = HTTPCache()
        let world = try ScriptedDownload { $0.steps.cache = cache }
        try await interrupt(world)
        #expect(try await cache.storage.usage.count == 0)
        let (download, attempt) = try await world.start(.removePreviousFile)
        #expect(world.requestedRange(attempt) == 4..<10)
        try world.sendPart(attempt)
        #expect(try await download.value.resumedBytes == 4)
        #expect(world.isComplete)
        #expect(try await cache.storage.usage.count == 0)
    }

    /// The next of equal requests is sent when a download ends that cannot be resumed, although its handle is still there.
    @Test func aCancelledDownloadLetsEqualRequestsGo() async throws {
        let cache = HTTPCache()
        let world = try ScriptedDownload { $0.steps.cache = cache }
        let (download, attempt) = try await world.start(.removePreviousFile)
        world.sendHead(attempt, tag: "W/\"a\"", [.cacheControl: "max-age=60"])
        try await world.receive(0..<4, attempt, download)
        async let other = world.session.data(ScriptedDownload.url)
        try await world.wait { cache.exchanges.waitingCount == 1 }
        download.cancel()
        let second = try await world.transport.nextAttempt()
        world.sendFile(second)
        #expect(try await other.0 == world.content)
        await #expect(throws: TrellisError.self) { try await download.value }
    }

    /// The rest of a newer version comes from the server, although an older version is stored and fresh.
    @Test func aStoredVersionIsNotMixedWithAnother() async throws {
        let cache = HTTPCache()
        let world = try ScriptedDownload { $0.steps.cache = cache }
        async let old = world.session.data(ScriptedDownload.url)
        let first = try await world.transport.nextAttempt()
        world.sendHead(first, tag: "\"old\"", [.cacheControl: "max-age=60"])
        first.receiveBody(Data("abcdefghij".utf8))
        first.end()
        #expect(try await old.1.cacheStatus?.isStored == true)
        let reload = Request(ScriptedDownload.url).withCacheMode(.reload)
        let newer = world.session.downloadRequest(reload, to: .file(world.path, .removePreviousFile))
        newer.resume()
        let second = try await world.transport.nextAttempt()
        world.sendHead(second, [.cacheControl: "max-age=60"])
        try await world.receive(0..<4, second, newer)
        newer.cancel()
        await #expect(throws: TrellisError.self) { try await newer.value }
        let (download, attempt) = try await world.start(.removePreviousFile)
        #expect(attempt.request.request.headers[.ifRange] == "\"a\"")
        try world.sendPart(attempt)
        _ = try await download.value
        #expect(world.isComplete)
    }
}
