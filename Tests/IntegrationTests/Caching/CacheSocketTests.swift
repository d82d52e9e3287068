import CurlEngine
import Foundation
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore
@testable import TrellisDownloads

/// Sessions with a cache, and real servers: responses are stored as they arrive, completely or not at all.
@Suite(.timeLimit(.minutes(3)))
struct CacheSocketTests {
    private let folder: Folder

    init() throws { folder = try Folder() }

    /// Returns a session with a cache in memory or on the disk.
    private func session(isOnDisk: Bool, _ policy: CachePolicy = CachePolicy()) -> (Session, HTTPCache) {
        let storage: any CacheStorage =
            isOnDisk ? DiskCacheStorage(directory: folder("cache")) : MemoryCacheStorage()
        let cache = HTTPCache(storage: storage, policy: policy)
        var configuration = SessionConfiguration()
        configuration.steps.cache = cache
        return (Session(configuration: configuration), cache)
    }

    private func get(_ session: Session, _ url: String, _ fields: HTTPFields = [:]) async throws -> [String] {
        var request = Request(url)
        request.headers = fields
        let (data, response) = try await session.data(request)
        return [String(decoding: data, as: UTF8.self), response.cacheStatus?.description ?? "none"]
    }

    @Test(arguments: [false, true]) func aResponseIsStoredAndCut(_ isOnDisk: Bool) async throws {
        let server = try LoopbackServer.http { _ in
            .init(headers: [.cacheControl: "max-age=600", .eTag: "\"1\""], body: Data("0123456789".utf8))
        }
        let (session, _) = session(isOnDisk: isOnDisk)
        let url = server.url("/a")
        #expect(try await get(session, url)[1] == "trellis; fwd=uri-miss; ttl=600; stored")
        #expect(try await get(session, url)[0] == "0123456789")
        #expect(try await get(session, url, [.range: "bytes=2-4"])[0] == "234")
        #expect(try await get(session, url, [.range: "bytes=-3"])[0] == "789")
        #expect(server.requests.count == 1)
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    /// An origin may tell `/a?` from `/a`, and so does the cache.
    @Test func anEmptyQueryIsSentAndSeparatesResponses() async throws {
        let server = try LoopbackServer.http { request in
            .init(headers: [.cacheControl: "max-age=600"], body: Data(request.target.utf8))
        }
        let (session, _) = session(isOnDisk: false)
        for target in ["/a", "/a?", "/a", "/a?"] { #expect(try await get(session, server.url(target))[0] == target) }
        #expect(server.requests.count == 2)
    }

    @Test(arguments: [false, true]) func aStaleResponseIsValidatedOnOneConnection(_ isOnDisk: Bool) async throws {
        let server = try LoopbackServer.http { request in
            let fields: HTTPFields = [.cacheControl: "max-age=0", .eTag: "\"1\""]
            if request["If-None-Match"] == "\"1\"" { return .init(status: 304, headers: fields) }
            return .init(headers: fields, body: Data("hello".utf8))
        }
        let (session, cache) = session(isOnDisk: isOnDisk)
        for _ in 1...5 { #expect(try await get(session, server.url("/a"))[0] == "hello") }
        #expect(server.requests.count == 5 && server.acceptedCount == 1)
        #expect(cache.statistics.validatedCount == 4)
    }

    @Test(arguments: [false, true]) func aStreamIsStoredWhileItIsRead(_ isOnDisk: Bool) async throws {
        let body = noise(3 << 20)
        let server = try LoopbackServer.http { _ in
            .init(
                headers: [.cacheControl: "max-age=600"],
                body: .chunked { writer in
                    for start in stride(from: 0, to: body.count, by: 100_000) {
                        try writer.write(Array(body[start..<min(start + 100_000, body.count)]))
                    }
                })
        }
        let (session, _) = session(isOnDisk: isOnDisk)
        for status in ["trellis; fwd=uri-miss; ttl=600; stored", "trellis; hit; ttl=600"] {
            let stream = try await session.stream(server.url("/a"))
            #expect(stream.response.cacheStatus?.description == status)
            var read = Data()
            for try await chunk in stream.chunks { read += chunk }
            #expect(read == body)
        }
        #expect(server.requests.count == 1)
    }

    /// The ends of bodies that are not complete.
    enum Cut: String, CaseIterable { case length, chunks, reset, coding }

    @Test(arguments: [false, true], Cut.allCases)
    func aBodyThatIsCutIsNotStored(_ isOnDisk: Bool, _ cut: Cut) async throws {
        let count = Locked(0)
        let server = try LoopbackServer.http { _ in
            let number = count.next()
            guard number <= 2 else { return .init(headers: [.cacheControl: "max-age=600"], body: Data("whole".utf8)) }
            return .init(
                body: .raw { connection in
                    let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\n"
                    switch cut {
                    case .length: try connection.write("\(head)Content-Length: 10\r\n\r\nhello")
                    case .chunks: try connection.write("\(head)Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
                    case .reset:
                        try connection.write("\(head)Content-Length: 10\r\n\r\nhello")
                        connection.reset()
                    case .coding:
                        let coded = storedInGzip(Data("hello".utf8)).dropLast(4)
                        let fields = "Content-Encoding: gzip\r\nContent-Length: \(coded.count)\r\n\r\n"
                        try connection.write(Array((head + fields).utf8) + coded)
                    }
                })
        }
        let (session, cache) = session(isOnDisk: isOnDisk)
        await #expect(throws: TrellisError.self) { try await session.data(server.url("/a")) }
        await #expect(throws: TrellisError.self) {
            for try await _ in try await session.stream(server.url("/a")).chunks {}
        }
        #expect(try await cache.storage.usage.count == 0)
        #expect(try await get(session, server.url("/a")) == ["whole", "trellis; fwd=uri-miss; ttl=600; stored"])
    }

    @Test(arguments: [false, true]) func aCodedBodyIsStoredAsItCame(_ isOnDisk: Bool) async throws {
        let coded = storedInGzip(Data("hello".utf8))
        let server = try LoopbackServer.http { _ in
            .init(
                headers: [.cacheControl: "max-age=600", .contentEncoding: "gzip", .vary: "Accept-Encoding"], body: coded
            )
        }
        let (session, _) = session(isOnDisk: isOnDisk)
        #expect(try await get(session, server.url("/a"))[0] == "hello")
        #expect(try await get(session, server.url("/a")) == ["hello", "trellis; hit; ttl=600"])
        #expect(server.requests.count == 1)
    }

    /// The request for whose response another waits is cancelled in the middle of its body.
    @Test(arguments: [false, true]) func aCancelledRequestHandsOver(_ isOnDisk: Bool) async throws {
        let count = Locked(0)
        let (begun, gate) = (LoopbackServer.Gate(), LoopbackServer.Gate())
        let (begunAgain, answer) = (LoopbackServer.Gate(), LoopbackServer.Gate())
        let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 5\r\n\r\n"
        let server = try LoopbackServer.http { _ in
            let isFirst = count.next() == 1
            begun.open()
            return .init(
                body: .raw { connection in
                    if isFirst {
                        try connection.write(head + "wh")
                        try connection.wait(for: gate)
                    } else {
                        begunAgain.open()
                        try connection.wait(for: answer)
                        try connection.write(head + "whole")
                    }
                })
        }
        let (session, cache) = session(isOnDisk: isOnDisk, CachePolicy(maximumCoalescedWait: .seconds(600)))
        let url = server.url("/a")
        let leader = Task { try await session.data(url) }
        try await begun.opened()
        let waiters = (1...3).map { _ in Task { try await get(session, url) } }
        while cache.exchanges.waitingCount < 3, !Task.isCancelled { await Task.yield() }
        leader.cancel()
        await #expect(throws: CancellationError.self) { try await leader.value }
        try await begunAgain.opened()
        while cache.exchanges.waitingCount < 2, !Task.isCancelled { await Task.yield() }
        answer.open()
        for waiter in waiters { #expect(try await waiter.value[0] == "whole") }
        // One of those that have waited has sent the request, and the others use its response.
        #expect(server.requests.count == 2 && cache.statistics.coalescedCount == 2)
        gate.open()
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    /// The head of the first response shows that the response is not stored, and its body takes long.
    @Test(arguments: [false, true]) func equalRequestsDoNotWaitForABodyThatIsNotStored(_ isOnDisk: Bool) async throws {
        let count = Locked(0)
        let (mayBegin, mayEnd) = (LoopbackServer.Gate(), LoopbackServer.Gate())
        let server = try LoopbackServer.http { _ in
            let isFirst = count.next() == 1
            guard isFirst else { return .init(headers: [.cacheControl: "no-store"], body: Data("own".utf8)) }
            let head = "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 90000\r\n\r\n"
            return .init(
                body: .raw { connection in
                    try connection.wait(for: mayBegin)
                    try connection.write(head + "first")
                    try connection.wait(for: mayEnd)
                    try connection.write(String(repeating: "x", count: 89_995))
                })
        }
        let (session, cache) = session(isOnDisk: isOnDisk, CachePolicy(maximumCoalescedWait: .seconds(600)))
        let url = server.url("/a")
        let leader = Task { try await session.data(url) }
        try await server.waitUntilRequested(count: 1)
        let waiters = (1...3).map { _ in Task { try await get(session, url) } }
        while cache.exchanges.waitingCount < 3, !Task.isCancelled { await Task.yield() }
        mayBegin.open()
        for waiter in waiters { #expect(try await waiter.value[0] == "own") }
        #expect(try await get(session, url)[0] == "own")
        mayEnd.open()
        #expect(try await leader.value.0.count == 90_000)
        #expect(server.requests.count == 5 && cache.statistics.coalescedCount == 0)
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    @Test(arguments: [false, true]) func aDownloadIsStoredAndComesFromTheCache(_ isOnDisk: Bool) async throws {
        let body = noise(5 << 20)
        let server = try FileServer(body, fields: "Cache-Control: max-age=600\r\n")
        let (session, _) = session(isOnDisk: isOnDisk)
        for _ in 1...2 {
            let file = try await session.download(server.url, to: .file(folder("f"), .removePreviousFile))
            #expect(file.size == Int64(body.count) && folder.data("f") == body)
        }
        let (data, response) = try await session.data(server.url)
        #expect(data == body && response.cacheStatus?.isHit == true)
        #expect(server.server.requests.count == 1)
    }

    @Test(arguments: [false, true]) func aMissGoesThroughTheProxyThatAFunctionSelects(_ hasRetriers: Bool) async throws
    {
        let proxy = try LoopbackServer.http { _ in
            .init(headers: [.cacheControl: "max-age=600"], body: Data("from the proxy".utf8))
        }
        let url = proxy.url("/")
        var configuration = SessionConfiguration()
        configuration.steps.cache = HTTPCache()
        if hasRetriers { configuration.steps.intercept(with: RetryPolicy(retryLimit: 1)) }
        configuration.proxy = .selecting { _ in [try Proxy(url)] }
        let session = Session(configuration: configuration)
        let expected = ["fwd=uri-miss; ttl=600; stored", "hit; ttl=600"]
        for status in expected {
            #expect(try await get(session, "http://origin.invalid/a") == ["from the proxy", "trellis; \(status)"])
        }
        #expect(proxy.requests.count == 1)
        await session.shutdown()
        try await proxy.waitUntilAllClosed()
    }
}
