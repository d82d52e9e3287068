import Foundation
import Testing
import Trellis
import TrellisTesting

/// A response over HTTP/2 that is complete by its length or its status ends the exchange, whatever has been sent of the request's body.
/// The body is then cut, and never ended as if it were complete.
///
/// Serialized, because all tests share one peer and each waits until it has no connection.
@Suite(.timeLimit(.minutes(3)), .serialized, .requiresPeers)
struct HTTP2WholeAnswerTests {
    private static let started = Peer.started("http2.py")

    /// A request's body that does not end before the response: a source without more bytes, one without an end, or a body in memory for
    /// which the server makes no room.
    enum Body: String, CaseIterable, Sendable { case stalled, endless, memory }

    /// Statuses, each with each body. 301 without a `Location` is a response like any other.
    static let rows: [(Int, Body)] = [200, 204, 301, 304, 403, 500].flatMap { status in
        Body.allCases.map { (status, $0) }
    }

    @Test(arguments: HTTP2Peer.Way.allCases, rows)
    func theResponseEndsTheExchange(_ way: HTTP2Peer.Way, _ row: (Int, Body)) async throws {
        let (clock, key) = (TestClock(), UUID().uuidString)
        let peer = try await HTTP2Peer(Self.started, way, clock: clock)
        let (status, kind) = row
        let source = WatchedSource(kind == .endless ? .endless : .stalled)
        let isInMemory = kind == .memory
        let body: RequestBody = isInMemory ? .data(Data(count: 1 << 20)) : .stream(source)
        let path = "/early-whole/\(status)/\(key)/\(kind == .stalled ? "read" : "unread")"
        let (data, response) = try await peer.session.upload(body, to: peer.request(path))
        #expect(response.status.code == status)
        #expect(data.count == ([204, 304].contains(status) ? 0 : 2))
        if !isInMemory { try await source.released.opened() }
        // 7.88.1 resets a stream with the next request on its connection.
        let rest = try await peer.session.data(peer.request("/early-rest/\(key)")).0
        #expect(rest.count == 5, "the body has ended as if it were complete")
        try await peer.isHealthyAndLeavesNothing()
    }
}
