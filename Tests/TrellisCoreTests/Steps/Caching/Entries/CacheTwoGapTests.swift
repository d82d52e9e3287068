import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// Stored parts from the middle of a representation, and requests for all of it (RFC 9111, section 3.4).
@Suite(.timeLimit(.minutes(3)))
struct CacheTwoGapTests {
    private typealias World = CacheWorld
    private typealias Origin = PartOrigin

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func ranges(_ world: CacheWorld) -> [String?] { world.transport.requests.map { $0.headers[.range] } }

    /// The bytes before the part are requested first, and those behind it with the longer part that is stored then.
    @Test(arguments: [false, true], [nil, "bytes=0-"])
    func theBytesAtBothEndsAreRequested(_ isOnDisk: Bool, _ range: String?) async throws {
        let origin = Origin()
        let world = World(storage: folder.cacheStorage(isOnDisk: isOnDisk)) { origin.response(to: $0) }
        _ = try await world.get(World.request("bytes=2-7"))
        let (text, response) = try await world.get(range, isStream: false)
        #expect(text == "0123456789" && response.status == (range == nil ? .ok : .partialContent))
        #expect(response.cacheStatus?.forwardReason == .partial && response.cacheStatus?.isStored == true)
        #expect(ranges(world) == ["bytes=2-7", "bytes=0-1", "bytes=8-"])
        #expect(world.transport.requests.map { $0.headers[.ifRange] } == [nil, "\"1\"", "\"1\""])
        #expect(try await world.get() == ["0123456789", "trellis; hit; ttl=60"])
        #expect(try await world.storedCount == 1)
    }

    /// The reader of a stream would wait until the first bytes are stored, and a part that is less than half of the whole is not worth a
    /// second request.
    @Test(arguments: [("bytes=2-7", true), ("bytes=3-7", false)])
    func theRequestIsSentAsItIsIfThatIsBetter(_ stored: String, _ isStream: Bool) async throws {
        let origin = Origin()
        let world = World { origin.response(to: $0) }
        _ = try await world.get(World.request(stored))
        let (text, response) = try await world.get(nil, isStream: isStream)
        #expect(text == "0123456789" && response.cacheStatus?.description == "trellis; fwd=partial; ttl=60; stored")
        #expect(ranges(world) == [stored, nil])
        #expect(try await world.get() == ["0123456789", "trellis; hit; ttl=60"])
    }

    /// The representation changes before the first or the second request: the response is the new one, without an old byte.
    @Test(arguments: [1, 2]) func bytesOfTwoRepresentationsAreNeverCombined(_ number: Int) async throws {
        let (origin, count) = (Origin(), Locked(0))
        let world = World { request in
            if request.headers.contains(.ifRange) {
                let isNext = count.next() == number
                if isNext { origin.replace("abcdefghij", "\"2\"") }
            }
            return origin.response(to: request)
        }
        _ = try await world.get(World.request("bytes=2-7"))
        #expect(try await world.get() == ["abcdefghij", "trellis; fwd=partial; ttl=60; stored"])
        #expect(ranges(world).count == number + 1)
        #expect(try await world.get() == ["abcdefghij", "trellis; hit; ttl=60"])
    }

    /// An origin that sends other bytes than the missing ones is asked for everything, and not for the same bytes again.
    @Test(arguments: ["bytes 0-2/10", "bytes 0-1/11", "bytes 1-2/10"])
    func otherBytesAreDropped(_ range: String) async throws {
        let origin = Origin()
        let world = World { request in
            guard request.headers.contains(.ifRange) else { return origin.response(to: request) }
            return World.response("xx", status: 206, World.fields([.contentRange: range]))
        }
        _ = try await world.get(World.request("bytes=2-7"))
        #expect(try await world.get() == ["0123456789", "trellis; fwd=partial; ttl=60; stored"])
        #expect(ranges(world) == ["bytes=2-7", "bytes=0-1", nil])
    }

    /// The bytes before the part have no room beside it: the request is sent as it is.
    @Test func withoutRoomTheRequestIsSentAsItIs() async throws {
        let origin = Origin()
        let world = World(storage: MemoryCacheStorage(maximumBodySize: 7)) { origin.response(to: $0) }
        _ = try await world.get(World.request("bytes=2-7"))
        let (text, response) = try await world.get(nil, isStream: false)
        #expect(text == "0123456789" && response.cacheStatus?.detail == "storage")
        #expect(ranges(world) == ["bytes=2-7", "bytes=0-1", nil])
    }

    /// The bytes before the part could not be stored with it: they are not requested alone.
    @Test func aRequestThatForbidsStoringIsSentAsItIs() async throws {
        let origin = Origin()
        let world = World { origin.response(to: $0) }
        _ = try await world.get(World.request("bytes=2-7"))
        var request = World.request(nil)
        request.headers[.cacheControl] = "no-store"
        #expect(try await world.get(request).first == "0123456789")
        #expect(ranges(world) == ["bytes=2-7", nil])
    }
}
