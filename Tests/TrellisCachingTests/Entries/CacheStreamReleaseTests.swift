import Foundation
import HTTPTypes
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// Streams whose responses are stored: nothing of them stays when they were read or dropped.
@Suite(.timeLimit(.minutes(3)))
struct CacheStreamReleaseTests {
    private typealias World = CacheWorld

    /// The cache knows no exchange of a URL when none is under way: a response that kept itself alive would be counted forever.
    @Test(arguments: [false, true]) func aStreamIsReleased(_ isRead: Bool) async throws {
        let gate = LoopbackServer.Gate()
        let world = World { _ in
            MockResponse(headers: World.fields()) { writer in
                try await writer.write("begin")
                if !isRead { try await gate.opened() }
            }
        }
        var stream: StreamResponse? = try await world.session.stream(World.url)
        #expect(world.cache.exchanges.count == 1)
        if isRead { for try await _ in try #require(stream).chunks {} }
        stream = nil
        // The transfer of a stream that is dropped ends, although nothing was read.
        if !isRead { try await world.transport.waitUntilCancelled(count: 1) }
        while world.cache.exchanges.count > 0, !Task.isCancelled { await Task.yield() }
        #expect(try await world.storedCount == (isRead ? 1 : 0))
    }
    /// A stream that is stored has the transfer of its exchange, which a handle and a download measure and hold, and its observer.
    @Test func aStreamThatIsStoredIsTheStreamOfItsExchange() async throws {
        let world = World({ $0.eventMonitors = [RequestLog(.calls) { _ in }] }) { _ in World.response("one") }
        let stream = try await world.session.stream(World.url)
        #expect(stream.source is StoringSource && stream.source.transfer is StreamSource)
        #expect(stream.source.observer != nil && stream.source.elapsedTime != nil)
        for try await _ in stream.chunks {}
        #expect(try await world.storedCount == 1)
    }
}
