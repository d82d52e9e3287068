import Testing
import Trellis

/// The connections to a real server whose limit of concurrent streams is known, because a response has come before.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requires("nghttpd"))
struct KnownStreamLimitTests {
    /// No stream is refused, so that no connection is replaced, and no more connections are made than the origin may have.
    @Test(arguments: [1, 2, 10], [1, 4])
    func noMoreConnectionsAreMadeThanTheLimitAllows(_ streams: Int, _ perOrigin: Int) async throws {
        let peer = try await Peer.realServers.value
        let events = ConnectionEvents()
        var configuration = SessionConfiguration()
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        // The second engine would make its first connection without an event.
        configuration.engines = .one
        configuration.limits.perOrigin = perOrigin
        configuration.eventMonitors = [events]
        let session = Session(configuration: configuration)
        let request = Request(try peer.url("nghttpd-\(streams)", "/small")).withHTTPVersion(.http2)
        let first = try await session.data(request).1
        #expect(!first.metrics.isReusedConnection)
        let responses = try await withThrowingTaskGroup { group in
            for _ in 0..<200 { group.addTask { try await session.data(request).1 } }
            return try await group.reduce(into: [Response]()) { $0.append($1) }
        }
        #expect(responses.allSatisfy { $0.status == .ok && $0.version == .http2 })
        let added = responses.count { !$0.metrics.isReusedConnection }
        #expect(added < perOrigin)
        await session.shutdown()
        // Each connection besides the first was added because of the limit of streams.
        #expect(events.words.count { $0 == "added" } == added)
    }
}
