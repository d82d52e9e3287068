import CurlEngine
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
        // Each connection besides the first was added because of the limit of streams, which libcurl 7.88 does not use.
        let count = LibcurlFeatures.current.canMultiplex ? added : 0
        #expect(events.words.count { $0 == "added" } == count)
    }
}

/// Limits that a server lowers while requests are in flight, if requests do not share connections, as on libcurl 7.88.
@Suite(
    .timeLimit(.minutes(3)), .serialized, .requiresPeers,
    .enabled(if: !LibcurlFeatures.current.canMultiplex, "requests share connections"))
struct LoweredLimitTests {
    private static let started = Peer.started("http2_limits.py")

    private struct Nothing: Decodable {}

    /// Each connection carries one request, which every limit allows: the connections are kept, and none is added.
    @Test func aLimitThatIsLoweredInFlightChangesNothing() async throws {
        let peer = try await Self.started.value
        func tell(_ command: String) async throws { _ = try await peer.answer(Nothing.self, to: command) }
        func counts() async throws -> StreamLimitTests.Counts { try await peer.answer(to: "counts") }
        let session = peer.session { $0.limits = ConnectionLimits(perOrigin: 2) }
        let request = Request(try peer.url("tls", "/hold")).withHTTPVersion(.http2)
        try await tell("limit 10")
        try await tell("hold")
        let tasks = (0..<12).map { _ in Task { try await session.data(request).1.status.code } }
        while try await counts().requests != 2 {}
        try await tell("limit 1")
        for _ in 0..<4 {
            try await tell("release one")
            while try await counts().requests != 2 {}
        }
        try await tell("release")
        for task in tasks { #expect(try await task.value == 200) }
        let end = try await counts()
        #expect(end.accepted == 2 && end.peakStreams == 1 && end.violations == 0)
        await session.shutdown()
        try await peer.waitUntilAllClosed()
    }
}
