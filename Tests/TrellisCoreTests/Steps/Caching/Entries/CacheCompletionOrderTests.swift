import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The storing of completed parts beside other responses, and of those that are of one user or too short.
@Suite(.timeLimit(.minutes(3)))
struct CacheCompletionOrderTests {
    private typealias World = CacheWorld

    // MARK: Order

    /// The rest of the stored part is copied after the response was received: a newer response may be stored meanwhile.
    @Test func anOlderCombinationDoesNotReplaceANewerResponse() async throws {
        let (origin, isReached, gate) = (PartOrigin(), LoopbackServer.Gate(), LoopbackServer.Gate())
        let storage = ProbedStorage { body, range in
            isReached.open()
            try await gate.opened()
            return try await body.bytes(in: range)
        }
        let world = World(storage: storage) { origin.response(to: $0) }
        _ = try await world.get(World.request("bytes=5-9"))
        let old = Task { try await world.get(World.request("bytes=0-4")) }
        try await isReached.opened()
        origin.replace("abcdefghij", "\"2\"")
        #expect(try await world.get(Request(World.url).withCacheMode(.reload))[0] == "abcdefghij")
        gate.open()
        #expect(try await old.value[0] == "01234")
        #expect(try await world.get() == ["abcdefghij", "trellis; hit; ttl=60"])
    }

    /// Each of the requests that wait would fail after the time of all failures before its own.
    @Test(arguments: [false, true])
    func afterAStaleResponseAllThatWaitAskAtTheSameTime(_ isUnreachable: Bool) async throws {
        let (first, rest, count) = (LoopbackServer.Gate(), LoopbackServer.Gate(), Locked(0))
        let world = World { _ in
            let number = count.next()
            if number == 1 { return World.response("one", [.cacheControl: "max-age=60, stale-if-error=600"]) }
            try await (number == 2 ? first : rest).opened()
            if isUnreachable { throw TransportFailure(.connectionFailed(.unreachable("down"))) }
            return World.response("down", status: 503, [:])
        }
        _ = try await world.get()
        world.pass(61)
        let leader = Task { try await world.get() }
        try await world.transport.waitUntilRequested(count: 2)
        let others = (1...2).map { _ in Task { try await world.get() } }
        while world.cache.exchanges.waitingCount != 2, !Task.isCancelled { await Task.yield() }
        first.open()
        #expect(try await leader.value[0] == "one")
        // If one of them led, the other one would wait for it.
        while world.transport.startedCount < 4, world.cache.exchanges.waitingCount != 1, !Task.isCancelled {
            await Task.yield()
        }
        #expect(world.transport.startedCount == 4)
        rest.open()
        for other in others { #expect(try await other.value[0] == "one") }
    }

    // MARK: Users

    /// The cookies of one user's response are for that user, and another user's are for none.
    @Test(arguments: [false, true])
    func theCookiesOfACompletionAreThoseOfItsOwnRequest(_ isStream: Bool) async throws {
        let (origin, count) = (PartOrigin(), Locked(0))
        let world = World(policy: CachePolicy(sharing: .shared)) { request in
            let number = count.next()
            return origin.response(to: request, [.setCookie: "user=\(number)", .age: "7"])
        }
        _ = try await world.get(World.request("bytes=0-4"))
        let (text, response) = try await world.get(nil, isStream: isStream)
        #expect(text == "0123456789" && response.headers[values: .setCookie] == ["user=2"])
        #expect(response.headers[values: .age].count == 1)
    }

    @Test(arguments: [false, true])
    func theCookiesOfAValidationAreThoseOfItsOwnRequest(_ isStream: Bool) async throws {
        let world = World(policy: CachePolicy(sharing: .shared)) { request in
            guard request.headers.contains(.ifNoneMatch) else {
                return World.response("one", World.fields([.setCookie: "user=1"]))
            }
            return World.response("", status: 304, World.fields([.setCookie: "user=2"]))
        }
        _ = try await world.get()
        world.pass(61)
        let (text, response) = try await world.get(nil, isStream: isStream)
        #expect(text == "one" && response.cacheStatus?.isValidated == true)
        #expect(response.headers[values: .setCookie] == ["user=2"])
    }

    /// RFC 9111, section 3.5: the directives of a stored part do not allow a part for one user to be stored for all.
    @Test(arguments: [nil, "bytes=5-9"])
    func aPartForOneUserIsNotStoredWithOneForAll(_ range: String?) async throws {
        let origin = PartOrigin()
        let world = World(policy: CachePolicy(sharing: .shared)) { request in
            guard request.headers.contains(.authorization) else {
                return origin.response(to: request, [.cacheControl: "public"])
            }
            let bytes = RequestedRange(request.headers)?.bytes(of: 10) ?? 0..<10
            return PartOrigin.part(of: "0123456789", bytes, [.eTag: "\"1\""])
        }
        _ = try await world.get(World.request("bytes=0-4"))
        var request = World.request(range)
        request.headers[.authorization] = "Basic eDp5"
        let (data, response) = try await world.session.data(request)
        #expect(String(decoding: data, as: UTF8.self) == (range == nil ? "0123456789" : "56789"))
        #expect(response.cacheStatus?.detail == "authorization" && response.cacheStatus?.isStored == false)
        #expect(try await world.get(World.request("bytes=0-4")) == ["01234", "trellis; hit; ttl=60"])
        #expect(try await world.get(World.request("bytes=5-9"))[1].hasPrefix("trellis; fwd=partial"))
    }

    // MARK: Lengths

    private static let long = String(repeating: "0123456789", count: 100)

    @Test(arguments: [false, true]) func aLongPartIsNotCopiedForAShortCompletion(_ isStream: Bool) async throws {
        let (origin, storage) = (PartOrigin(Self.long), ProbedStorage())
        let world = World(storage: storage) { origin.response(to: $0) }
        _ = try await world.get(World.request("bytes=0-799"))
        let (text, response) = try await world.get("bytes=795-804", isStream: isStream)
        #expect(text == "5678901234" && response.cacheStatus?.description == "trellis; fwd=partial")
        #expect(world.transport.requests.last?.headers[.range] == "bytes=800-804")
        #expect(storage.writtenCount == 800)
        #expect(try await world.get(World.request("bytes=0-799"))[1] == "trellis; hit; ttl=60")
        // The complete representation is worth it.
        #expect(try await world.get(nil, isStream: isStream).0 == Self.long)
        #expect(storage.writtenCount == 1800)
    }

    /// A part that touches the stored one is too short to copy that for it; the other one does not touch it.
    @Test(arguments: ["bytes=800-809", "bytes=990-999"])
    func aShortPartDoesNotReplaceALongerOne(_ range: String) async throws {
        let origin = PartOrigin(Self.long)
        let world = World { origin.response(to: $0) }
        _ = try await world.get(World.request("bytes=0-799"))
        #expect(try await world.get(World.request(range)) == ["0123456789", "trellis; fwd=partial"])
        #expect(try await world.get(World.request("bytes=0-9")) == ["0123456789", "trellis; hit; ttl=60"])
        // A part of another representation is no part of that one.
        origin.replace(Self.long, "\"2\"")
        #expect(try await world.get(World.request(range))[1] == "trellis; fwd=partial; ttl=60; stored")
    }

    @Test(arguments: [false, true]) func aPartStaysIfThereIsNoRoomForMore(_ isStream: Bool) async throws {
        let origin = PartOrigin()
        let world = World(storage: MemoryCacheStorage(maximumBodySize: 8)) { origin.response(to: $0) }
        _ = try await world.get(World.request("bytes=0-4"))
        let (text, response) = try await world.get(nil, isStream: isStream)
        #expect(text == "0123456789" && response.cacheStatus?.detail == "storage")
        #expect(try await world.get(World.request("bytes=0-4")) == ["01234", "trellis; hit; ttl=60"])
    }

    /// A connection would be idle while the reader gets the stored bytes.
    @Test(arguments: [0, 1], [false, true])
    func aStreamIsNotCompletedAfterManyStoredBytes(_ more: Int, _ isStream: Bool) async throws {
        let count = (1 << 20) + more
        let origin = PartOrigin(String(repeating: "0", count: count) + "123")
        let world = World { origin.response(to: $0) }
        _ = try await world.get(World.request("bytes=0-\(count - 1)"))
        let text = try await world.get(nil, isStream: isStream).0
        #expect(text.utf8.count == count + 3 && text.hasSuffix("0123"))
        let sent = more > 0 && isStream ? nil : "bytes=\(count)-"
        #expect(world.transport.requests.last?.headers[.range] == sent)
        #expect(try await world.get(World.request("bytes=-4")) == ["0123", "trellis; hit; ttl=60"])
    }

    // MARK: Damage

    @Test(arguments: [false, true]) func aDamagedPartIsRemovedWhenItIsCopied(_ isStream: Bool) async throws {
        struct Damage: Error {}
        let origin = PartOrigin()
        let world = World(storage: ProbedStorage { _, _ in throw Damage() }) { origin.response(to: $0) }
        _ = try await world.get(World.request("bytes=5-9"))
        #expect(try await world.get("bytes=0-4", isStream: isStream).0 == "01234")
        #expect(try await world.storedCount == 0)
    }
}
