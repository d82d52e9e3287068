import Testing
import Trellis
import TrellisTesting

/// A request that demands HTTP/2 is sent over it, or not at all.
@Suite(.timeLimit(.minutes(3)), .serialized)
struct DemandedHTTP2Tests {
    private static let started = Peer.started("http2.py")

    @Test(.requiresPeers) func aServerThatAgreesIsSpokenTo() async throws {
        let peer = try await HTTP2Peer(Self.started, .tls)
        let request = try peer.request("/ok/1000")
        let (data, response) = try await peer.session.data(request)
        #expect(data.count == 1000 && response.version == .http2)
        #expect(peer.session.engineStatistics.allSatisfy { $0.speaksHTTP2 })
        #expect(response.metrics.negotiatedTLS?.applicationProtocol == "h2")
        // The connection is that of requests without the demand, if those use HTTP/2.
        let usual = try await peer.session.data(request.withHTTPVersion(.automatic)).1
        #expect(usual.version == RunningLibcurl.usualVersion)
        #expect(usual.metrics.isReusedConnection == (usual.version == .http2))
        try await peer.isHealthyAndLeavesNothing()
    }

    @Test func aServerThatDoesNotAgreeGetsNothing() async throws {
        let server = try LoopbackServer.https { _ in .text("ok") }
        let session = Session(configuration: server.sessionConfiguration())
        let request = Request(server.url("/"), method: .post, body: .string("text")).withHTTPVersion(.http2)
        let error = await expectFailure([.http2]) { try await session.data(request) }
        #expect(error?.mayHaveSentBytes == false && error?.isRetryable == false)
        #expect(error?.description.contains("the server has not agreed on HTTP/2") == true)
        #expect(server.requests.isEmpty)
        #expect(try await session.data(server.url("/")).1.version == .http1_1)
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    @Test func anIdleConnectionOverHTTP1IsNotUsed() async throws {
        let server = try LoopbackServer.https { _ in .text("ok") }
        let session = Session(configuration: server.sessionConfiguration())
        _ = try await session.data(server.url("/1"))
        await expectFailure([.http2]) { try await session.data(Request(server.url("/2")).withHTTPVersion(.http2)) }
        #expect(server.requests.map(\.target) == ["/1"])
        #expect(server.acceptedCount == 2)
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    @Test func withoutTLSThereIsNoAgreement() async throws {
        let server = try LoopbackServer.http { _ in .text("ok") }
        let session = Session()
        await expectFailure([.unsupported]) {
            try await session.data(Request(server.url("/")).withHTTPVersion(.http2))
        }
        #expect(server.acceptedCount == 0)
        await session.shutdown()
    }
}
