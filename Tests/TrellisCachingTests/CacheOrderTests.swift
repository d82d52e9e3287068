import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// Storages that take their time, and what comes meanwhile: newer responses, cancellations, and removals that have no effect.
@Suite(.timeLimit(.minutes(3)))
struct CacheOrderTests {
    private typealias World = CacheWorld

    /// A storage in memory whose first entry waits before or after it becomes visible, or which removes nothing.
    private struct SlowStorage: MemoryBackedStorage {
        /// Is opened when the first entry waits.
        let isReached = LoopbackServer.Gate()
        /// The gate at which the first entry waits.
        let gate = LoopbackServer.Gate()
        /// Whether the first entry is visible while it waits.
        var isVisible = false
        /// Whether no body can be read, and nothing is removed.
        var isBroken = false
        let memory = MemoryCacheStorage()
        private let count = Locked(0)

        init(isVisible: Bool = false, isBroken: Bool = false) {
            (self.isVisible, self.isBroken) = (isVisible, isBroken)
        }

        func entries(for key: CacheKey) -> [CacheEntry] {
            memory.entries(for: key).map { entry in
                guard isBroken else { return entry }
                return CacheEntry(id: entry.id, head: entry.head, body: UnreadableBody(of: entry))
            }
        }
        func makeWriter(for key: CacheKey, _ head: CachedHead, length: Int64?) throws -> any CacheWriter {
            let writer = try memory.makeWriter(for: key, head, length: length)
            let isFirst = count.next() == 1
            guard isFirst, !isBroken else { return writer }
            let wait: @Sendable () async throws -> Void = { [isReached, gate] in
                isReached.open()
                try await gate.opened()
            }
            return isVisible
                ? ProbedWriter(writer: writer, didCommit: wait) : ProbedWriter(writer: writer, willCommit: wait)
        }
        func remove(_ entry: CacheEntry, for key: CacheKey) {
            if !isBroken { memory.remove(entry, for: key) }
        }
    }

    /// A storage that keeps the dates of its entries in whole seconds.
    private struct CoarseStorage: MemoryBackedStorage {
        let slow = SlowStorage()
        var memory: MemoryCacheStorage { slow.memory }

        func entries(for key: CacheKey) -> [CacheEntry] {
            slow.entries(for: key).map { entry in
                let head = CachedHead(
                    status: entry.head.status, headers: entry.head.headers, requestHeaders: entry.head.requestHeaders,
                    requestDate: rounded(entry.head.requestDate), responseDate: rounded(entry.head.responseDate))
                return CacheEntry(id: entry.id, head: head, body: entry.body)
            }
        }
        func makeWriter(for key: CacheKey, _ head: CachedHead, length: Int64?) throws -> any CacheWriter {
            try slow.makeWriter(for: key, head, length: length)
        }
        private func rounded(_ date: Date) -> Date {
            Date(timeIntervalSince1970: date.timeIntervalSince1970.rounded(.toNearestOrAwayFromZero))
        }
    }

    /// A storage in memory that can be written, but not searched while it is broken.
    private struct UnsearchableStorage: MemoryBackedStorage {
        struct Failure: Error {}

        let memory = MemoryCacheStorage()
        let isBroken = Locked(true)

        func entries(for key: CacheKey) throws -> [CacheEntry] {
            guard isBroken.withLock({ !$0 }) else { throw Failure() }
            return memory.entries(for: key)
        }
    }

    /// Returns a world whose responses are numbers.
    ///
    /// - Parameter clock: One that stands still, unless the limit on the wait for a storage is to end.
    private func counting(
        _ storage: any CacheStorage, _ fields: HTTPFields = World.fields(), clock: TestClock? = TestClock()
    ) -> CacheWorld {
        let count = Locked(0)
        return World(storage: storage, clock: clock) { _ in
            let number = count.next()
            return World.response("\(number)", fields)
        }
    }

    // MARK: Newer responses

    /// The newer response is stored while the older one is about to be, and the older one takes its place.
    @Test func anOlderResponseDoesNotStayInPlaceOfANewerOne() async throws {
        let storage = SlowStorage()
        let world = counting(storage)
        let old = Task { try await world.get()[0] }
        try await storage.isReached.opened()
        #expect(try await world.get(Request(World.url).withCacheMode(.reload))[0] == "2")
        storage.gate.open()
        #expect(try await old.value == "1")
        #expect(try await world.get()[0] == "3")
        #expect(try await world.get() == ["3", "trellis; hit; ttl=60"])
    }

    /// The newer response takes the place of the older one, which is about to be found out of date.
    @Test func aNewerResponseStaysInPlaceOfAnOlderOne() async throws {
        let storage = SlowStorage(isVisible: true)
        let world = counting(storage)
        let old = Task { try await world.get()[0] }
        try await storage.isReached.opened()
        // More than the second within which requests count as sent together.
        world.pass(2)
        #expect(try await world.get(Request(World.url).withCacheMode(.reload))[0] == "2")
        storage.gate.open()
        #expect(try await old.value == "1")
        #expect(try await world.get() == ["2", "trellis; hit; ttl=60"])
    }

    // MARK: Removals

    /// The URL is invalidated just after the response has become visible, and a response to a later request is stored.
    @Test func aRemovalOfALateResponseLeavesALaterOne() async throws {
        let storage = SlowStorage(isVisible: true)
        let world = counting(storage, clock: nil)
        let old = Task { try await world.get() }
        try await storage.isReached.opened()
        try await world.cache.remove(World.url)
        // More than the second within which requests count as sent together.
        world.pass(2)
        #expect(try await world.get()[0] == "2")
        storage.gate.open()
        #expect(try await old.value == ["1", "trellis; fwd=uri-miss; ttl=60; detail=storage"])
        #expect(try await world.get() == ["2", "trellis; hit; ttl=60"])
    }

    @Test func aLateResponseIsRemovedFromAStorageThatKeepsWholeSeconds() async throws {
        let storage = CoarseStorage()
        let world = counting(storage)
        world.pass(0.5)
        let old = Task { try await world.get()[0] }
        try await storage.slow.isReached.opened()
        try await world.cache.remove(World.url)
        storage.slow.gate.open()
        #expect(try await old.value == "1")
        #expect(try await world.get()[0] == "2")
    }

    /// The response is removed while it is about to become visible: neither its status nor the statistics say that it is stored.
    @Test func aResponseThatIsRemovedWhileItIsStoredIsNotSaidToBeStored() async throws {
        let storage = SlowStorage()
        let world = counting(storage)
        let response = Task { try await world.get() }
        try await storage.isReached.opened()
        try await world.cache.remove(World.url)
        storage.gate.open()
        #expect(try await response.value == ["1", "trellis; fwd=uri-miss; ttl=60; detail=storage"])
        #expect(try await world.storedCount == 0)
        #expect(world.cache.statistics.storedCount == 0)
    }

    // MARK: Cancellation

    /// A read of a stored body that is cancelled is no reason to remove it, whether the response is fresh or was validated.
    @Test(arguments: [false, true], [false, true])
    func aReadThatIsCancelledRemovesNothing(_ isStream: Bool, _ isStale: Bool) async throws {
        let (isReached, gate) = (LoopbackServer.Gate(), LoopbackServer.Gate())
        let storage = ProbedStorage { body, range in
            isReached.open()
            try await gate.opened()
            return try await body.bytes(in: range)
        }
        let world = World(storage: storage, clock: TestClock()) { request in
            request.headers.contains(.ifNoneMatch)
                ? World.response("", status: 304, World.fields()) : World.response("one", World.fields())
        }
        _ = try await world.get()
        if isStale { world.pass(61) }
        let reading = Task { () async throws -> Void in
            if isStream {
                for try await _ in try await world.session.stream(World.url).chunks {}
            } else {
                _ = try await world.get()
            }
        }
        try await isReached.opened()
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
        gate.open()
        #expect(try await world.storedCount == 1)
        #expect(try await world.get()[0] == "one")
    }

    // MARK: Storages that do not do as they are told

    /// The request is sent after some attempts to remove what cannot be read.
    @Test func aBodyThatCanBeNeitherReadNorRemovedEndsNoRequest() async throws {
        let world = counting(SlowStorage(isBroken: true))
        for number in 1...3 { #expect(try await world.get()[0] == "\(number)") }
        let offline = try await world.session.data(Request(World.url).withCacheMode(.onlyIfCached)).1
        #expect(offline.status == .gatewayTimeout)
        #expect(world.transport.requests.count == 3)
    }

    /// The event is sent once, until the storage can be searched again: that it can be written meanwhile makes no difference.
    @Test func aStorageThatCannotBeSearchedIsTold() async throws {
        let failures = Locked<[String]>([])
        let monitor = ClosureEventMonitor { event in
            if case .cacheFailed(let error) = event.kind { failures.withLock { $0.append("\(error)") } }
        }
        let storage = UnsearchableStorage()
        let world = World(storage: storage, { $0.eventMonitors.append(monitor) }) { _ in World.response("one") }
        for _ in 1...2 { #expect(try await world.get() == ["one", "trellis; fwd=uri-miss; ttl=60; stored"]) }
        #expect(world.cache.statistics.failureCount == 2)
        storage.isBroken.withLock { $0 = false }
        #expect(try await world.get() == ["one", "trellis; hit; ttl=60"])
        #expect(world.cache.statistics.failureCount == 2)
        storage.isBroken.withLock { $0 = true }
        #expect(try await world.get()[1] == "trellis; fwd=uri-miss; ttl=60; stored")
        #expect(world.cache.statistics.failureCount == 3)
        await world.shutDown()
        #expect(failures.withLock { $0 } == ["Failure()", "Failure()"])
    }

    // MARK: User code

    /// The condition of a removal may use the cache.
    @Test func aConditionThatAsksTheCacheDoesNotStopIt() async throws {
        let gate = LoopbackServer.Gate()
        let world = World.waiting(at: gate)
        let get = try await world.begin()
        let cache = world.cache
        try await cache.removeAll { _ in cache.exchanges.count == 1 }
        gate.open()
        _ = try await get.value
        #expect(try await world.storedCount == 0)
    }

    // MARK: Bodies that are too large

    /// The size of a body says nothing about the storage: there is no failure, and the next one is told.
    @Test func aBodyThatIsTooLargeIsNoFailureOfTheStorage() async throws {
        let world = World(storage: MemoryCacheStorage(maximumBodySize: 3)) { _ in World.response("large") }
        #expect(try await world.get() == ["large", "trellis; fwd=uri-miss; ttl=60; detail=storage"])
        let stream = try await world.session.stream(World.url)
        let body = try await stream.chunks.reduce(into: Data()) { $0.append($1) }
        #expect(body == Data("large".utf8))
        #expect(world.cache.statistics.failureCount == 0)
        #expect(world.cache.recordFailure(FileFailure(path: "/", reason: "full")))
    }
}
