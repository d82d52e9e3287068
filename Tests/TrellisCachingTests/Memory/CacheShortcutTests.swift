import CurlEngine
import Foundation
import HTTPTypes
import Synchronization
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// The short ways of requests whose cache is in memory: they have the results of the long one.
@Suite(.timeLimit(.minutes(3)))
struct CacheShortcutTests {
    private typealias World = CacheWorld

    // MARK: Hits without a call

    @Test func aStoredRedirectIsFollowed() async throws {
        let world = World { request in
            request.url.hasSuffix("/a")
                ? World.response("", status: 301, [.location: "/b", .cacheControl: "max-age=60"]) : World.response("b")
        }
        for _ in 0..<2 { #expect(try await world.get()[0] == "b") }
        #expect(world.transport.requests.count == 2)
    }

    @Test func aRetrierIsAskedAboutAStoredFailure() async throws {
        let answers = MockTransport.inTurn([World.response("gone", status: 404), World.response("here")])
        let asked = Atomic(0)
        let world = World {
            $0.steps.retriers.append(
                Retrier { _, _ in asked.add(1, ordering: .relaxed).newValue % 2 == 0 ? .retry : .doNotRetry })
        } _: {
            try await answers($0)
        }
        #expect(try await world.get()[0] == "gone")
        #expect(try await world.get()[0] == "here")
        #expect(asked.load(ordering: .relaxed) == 2 && world.transport.requests.count == 2)
    }

    @Test func aCancelledTaskGetsNoStoredResponse() async throws {
        let world = World { _ in World.response("one") }
        _ = try await world.get()
        let session = try world.session
        let gate = LoopbackServer.Gate()
        let task = Task {
            try? await gate.opened()
            return try await session.data(World.url).0
        }
        task.cancel()
        gate.open()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    /// The counter of the wake-ups stays the same in one of several rounds: the last work of the miss may come late.
    @Test func aHitInMemoryWakesNoEngine() async throws {
        let server = try LoopbackServer.http { _ in
            .init(headers: [.cacheControl: "max-age=600"], body: Data("one".utf8))
        }
        var configuration = SessionConfiguration()
        configuration.steps.cache = HTTPCache()
        let session = Session(configuration: configuration)
        _ = try await session.data(server.url("/a"))
        func wakeUpCount() -> Int { session.engineStatistics.reduce(0) { $0 + $1.wakeUpCount } }
        var isQuiet = false
        for _ in 1...20 where !isQuiet {
            let before = wakeUpCount()
            for _ in 1...20 {
                let response = try await session.data(server.url("/a")).1
                #expect(response.cacheStatus?.isHit == true)
            }
            isQuiet = wakeUpCount() == before
        }
        #expect(isQuiet)
        #expect(server.requests.count == 1)
        // The counter counts: a miss wakes the engine, once it sleeps.
        let before = wakeUpCount()
        for number in 1...1000 where wakeUpCount() == before { _ = try await session.data(server.url("/\(number)")) }
        #expect(wakeUpCount() > before)
        await session.shutdown()
    }

    @Test func theDefaultQueryItemsAreInTheKeyOnce() async throws {
        let world = World {
            $0.defaultQueryItems = [URLQueryItem(name: "k", value: "1")]
        } _: { _ in
            World.response("one")
        }
        #expect(try await world.get()[1] == "trellis; fwd=uri-miss; ttl=60; stored")
        #expect(try await world.get()[1] == "trellis; hit; ttl=60")
        #expect(world.transport.requests.map(\.url) == [World.url + "?k=1"])
    }

    // MARK: What is found out once

    @Test func theLifetimeIsThatOfTheLastValidation() async throws {
        let world = World { request in
            request.headers[.ifNoneMatch] == nil
                ? World.response("one", [.cacheControl: "max-age=10", .eTag: "\"a\""])
                : World.response("", status: 304, [.cacheControl: "max-age=100", .eTag: "\"a\""])
        }
        _ = try await world.get()
        world.pass(5)
        #expect(try await world.get()[1] == "trellis; hit; ttl=5")
        world.pass(10)
        #expect(try await world.get() == ["one", "trellis; fwd=stale; fwd-status=304; ttl=100; stored"])
        world.pass(50)
        #expect(try await world.get() == ["one", "trellis; hit; ttl=50"])
        #expect(world.transport.requests.count == 2)
    }

    @Test func twoCachesJudgeOneStorageByTheirOwnRules() async throws {
        let storage = MemoryCacheStorage()
        let own = World(storage: storage) { _ in World.response("one", [.cacheControl: "max-age=60, s-maxage=600"]) }
        let shared = World(policy: CachePolicy(sharing: .shared), storage: storage) { _ in World.response("two") }
        _ = try await own.get()
        #expect(try await shared.get() == ["one", "trellis; hit; ttl=600"])
        #expect(try await own.get() == ["one", "trellis; hit; ttl=60"])
    }

    @Test func aFieldThatOnlyTheHandlerNamesInVaryIsComparedToo() async throws {
        let world = World {
            $0.steps.cachedResponseHandler = .modify { head, _ in
                var head = head
                head.headers[.vary] = "x-kind"
                return head
            }
        } _: { request in
            World.response(request.headers.first { $0.name.canonicalName == "x-kind" }?.value ?? "none")
        }
        let kind = try #require(HTTPField.Name("X-Kind"))
        for text in ["a", "b", "a"] {
            #expect(try await world.get(Request(World.url).withHeader(kind, text))[0] == text)
        }
        #expect(try await world.get()[0] == "none")
        #expect(world.transport.requests.count == 3)
    }

    @Test func theFieldsThatNoRuleReadsAreKept() async throws {
        let world = World { _ in
            World.response("one", [.cacheControl: "max-age=60", .server: "x", .connection: "close, server", .via: "y"])
        }
        _ = try await world.get()
        let (_, response) = try await world.session.data(World.url)
        #expect(response.headers == [.cacheControl: "max-age=60", .via: "y", .age: "0"])
    }

    // MARK: Misses without a task

    @Test(arguments: [false, true])
    func aMissWithAdaptersIsStoredAndUsed(_ isObserved: Bool) async throws {
        let events = Locked<[String]>([])
        let world = World {
            $0.steps.adapters.append(Adapter { request, _ in request.withHeader(.accept, "text/plain") })
            $0.steps.retriers.append(RetryPolicy())
            if isObserved { $0.eventMonitors.append(CacheEvents(events)) }
        } _: { _ in
            World.response("one", [.cacheControl: "max-age=60", .vary: "accept"])
        }
        #expect(try await world.get() == ["one", "trellis; fwd=uri-miss; ttl=60; stored"])
        #expect(try await world.get() == ["one", "trellis; hit; ttl=60"])
        #expect(world.transport.requests.map { $0.headers[.accept] } == ["text/plain"])
        await world.shutDown()
        let told = ["trellis; fwd=uri-miss; ttl=60; stored", "trellis; hit; ttl=60"]
        #expect(events.withLock { $0 } == (isObserved ? told : []))
    }

    @Test func aRedirectIsStoredWhileItIsFollowed() async throws {
        let world = World { request in
            request.url.hasSuffix("/a")
                ? World.response("", status: 308, [.location: "/b", .cacheControl: "max-age=60"]) : World.response("b")
        }
        #expect(try await world.get()[0] == "b")
        #expect(try await world.storedCount == 2)
    }

    @Test func theBodyIsStoredInItsCodingAndDecoded() async throws {
        let text = String(repeating: "text ", count: 1_000)
        let coded = try Data(#require(ContentEncoder(.gzip)).encode(Data(text.utf8), isLast: true))
        let server = try LoopbackServer { connection in
            try connection.readRequest()
            try connection.write(
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Encoding: gzip\r\n"
                    + "Content-Length: \(coded.count)\r\n\r\n")
            try connection.write(coded)
        }
        let cache = HTTPCache()
        var configuration = SessionConfiguration()
        configuration.steps.cache = cache
        let session = Session(configuration: configuration)
        for isHit in [false, true] {
            let (data, response) = try await session.data(server.url("/a"))
            #expect(String(decoding: data, as: UTF8.self) == text && response.cacheStatus?.isHit == isHit)
        }
        let codings = server.requests.map { $0.fields.first { $0.name == "Accept-Encoding" }?.value }
        #expect(codings.map { $0?.contains("gzip") } == [true])
        let stored = try await cache.storage.entries(for: CacheKey(url: server.url("/a")))
        #expect(stored.map(\.body.length) == [Int64(coded.count)])
        await session.shutdown()
    }

    @Test func aBodyWithABadCodingIsAnErrorAndNotStored() async throws {
        let world = World { _ in
            MockResponse(headers: [.cacheControl: "max-age=60", .contentEncoding: "gzip"], body: Data("no gzip".utf8))
        }
        let error = await #expect(throws: TrellisError.self) { try await world.get() }
        #expect(error?.kind == .contentCoding && error?.url == World.url && error?.method == .get)
        #expect(try await world.storedCount == 0)
        #expect(world.cache.exchanges.leaderCount == 0 && world.cache.exchanges.count == 0)
    }

    @Test func aResponseThatIsNotStoredRemovesTheOneItReplaces() async throws {
        let directives = Locked(["no-store", "max-age=60"])
        let world = World { _ in World.response("x", [.cacheControl: directives.withLock { $0.removeLast() }]) }
        _ = try await world.get()
        #expect(try await world.storedCount == 1)
        #expect(try await world.get(Request(World.url).withCacheMode(.reload))[1].contains("detail=no-store"))
        #expect(try await world.storedCount == 0)
    }

    @Test func aFailureEndsTheFlight() async throws {
        let world = World { _ in throw TrellisError(.other("no server")) }
        await #expect(throws: TrellisError.self) { try await world.get() }
        #expect(world.cache.exchanges.leaderCount == 0 && world.cache.exchanges.count == 0)
    }

    // MARK: The order of uses

    /// A number as a key. Several numbers have the same hash.
    private struct Key: HashedKey, ExpressibleByIntegerLiteral {
        let value: Int
        var number: Int { value % 2 }

        init(_ value: Int) { self.value = value }
        init(integerLiteral value: Int) { self.value = value }
    }

    @Test func theOrderIsThatOfTheLastUses() {
        var order = LRUList<Key, Int>()
        for key in 0..<5 { order.useAndChange(Key(key)) { $0.append(10 * key) } }
        #expect(order.use(1) == [10] && order.use(0) == [0] && order.use(9) == [])
        order.change(2) { $0.append(21) }
        order.change(4) { $0.removeAll() }
        order.useAndChange(5) { $0.append(50) }
        var removed: [Int] = []
        while let element = order.removeOldest() { removed.append(element) }
        #expect(removed == [20, 21, 30, 10, 0, 50] && order.keys.isEmpty)
        order.useAndChange(7) { _ in }
        #expect(order.keys.isEmpty && order.removeOldest() == nil)
    }

    @Test func theOldestElementIsRemovedFirst() {
        var order = LRUList<Key, Int>()
        let added = [order.add(1, for: 1), order.add(2, for: 2), order.add(9, for: 1)]
        #expect(added == [true, true, false])
        order.useAndChange(1) { $0 += [11, 12] }
        order.useAndChange(3) { $0 = [3, 31] }
        let lists = [order.use(2), order.use(1), order.use(3), order.use(4)]
        #expect(lists == [[2], [1, 11, 12], [3, 31], []])
        var removed: [Int] = []
        while let element = order.removeOldest() { removed.append(element) }
        #expect(removed == [2, 1, 11, 12, 3, 31] && order.keys.isEmpty)
        // The places of lists that were removed are used again.
        let isAdded = order.add(5, for: 5)
        #expect(isAdded && order.use(5) == [5] && order.keys.map(\.value) == [5])
    }
}

/// A monitor that keeps the cache statuses of calls.
private final class CacheEvents: EventMonitor {
    private let texts: Locked<[String]>

    init(_ texts: Locked<[String]>) { self.texts = texts }

    func handle(_ event: RequestEvent) async {
        if case .cacheUsed(let status) = event.kind { texts.withLock { $0.append(status.description) } }
    }
}
