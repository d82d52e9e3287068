import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// The values of a cache status, which have the types of the framework's other times and statuses.
@Suite(.timeLimit(.minutes(3)))
struct CacheStatusTests {
    private typealias World = CacheWorld

    @Test func aValidatedResponseTellsItsStatusAndItsTime() async throws {
        let world = World { request in
            request.headers.contains(.ifNoneMatch)
                ? World.response("", status: 304, World.fields()) : World.response("one", World.fields())
        }
        let first = try #require(try await world.session.data(World.url).1.cacheStatus)
        #expect(first.forwardStatus == nil && first.timeToLive == .seconds(60))
        world.pass(61)
        let second = try #require(try await world.session.data(World.url).1.cacheStatus)
        #expect(second.forwardStatus == .notModified && second.timeToLive == .seconds(60))
        world.pass(70)
        let stale = Request(World.url).withCacheMode(.forceCache)
        let third = try #require(try await world.session.data(stale).1.cacheStatus)
        #expect(third.timeToLive == .seconds(-10) && third.forwardReason == nil)
    }
}
