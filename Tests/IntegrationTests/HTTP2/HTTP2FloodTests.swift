import Foundation
import TestSupport
import Testing
import Trellis
import TrellisTesting

/// A server that floods its connection with empty frames ends its own request and no other.
///
/// Serialized, because all tests share one peer and each waits until it has no connection.
@Suite(.timeLimit(.minutes(3)), .serialized, .requiresPeers)
struct HTTP2FloodTests {
    private static let started = Peer.started("http2.py")
    /// The kinds of floods.
    static let kinds =
        Scale.isFull ? ["empty-data", "padded-data", "window-updates", "unknown-frames"] : ["unknown-frames"]
    private static let idle = Duration.seconds(30)

    private let clock = TestClock()

    @Test(arguments: Scale.isFull ? HTTP2Peer.Way.allCases : [.tls], kinds)
    func floodInABodyEndsItsRequestAndNoOther(_ way: HTTP2Peer.Way, _ kind: String) async throws {
        let peer = try await HTTP2Peer(Self.started, way, clock: clock)
        let stream = try await peer.session.stream(peer.request("/flood/\(kind)/in-body", idle: Self.idle))
        let isBegun = LoopbackServer.Gate()
        async let end: Void = expectFlood {
            for try await _ in stream.chunks { isBegun.open() }
        }
        try await isBegun.opened()
        try await peer.answersElsewhere()
        clock.move(by: Self.idle)
        await end
        try await peer.leavesNothing()
    }

    @Test(arguments: Scale.isFull ? [EngineCount.automatic, .fixed(2)] : [.fixed(2)])
    func floodInsteadOfAHeadEndsItsRequestAndNoOther(_ engines: EngineCount) async throws {
        let peer = try await HTTP2Peer(Self.started, .tls, engines: engines, clock: clock)
        let key = UUID().uuidString
        let flooded = try peer.request("/flood-told/\(key)", idle: Self.idle)
        async let end: Void = expectFlood { try await peer.session.data(flooded) }
        try await peer.answersElsewhere("/sent/\(key)", count: 2)
        for _ in 0..<20 { try await peer.answersElsewhere() }
        clock.move(by: Self.idle)
        await end
        try await peer.leavesNothing()
    }

    /// A flood on a kept connection ends the request that uses the connection.
    @Test func floodOnAKeptConnectionEndsItsRequestAndNoOther() async throws {
        let peer = try await HTTP2Peer(Self.started, .tls)
        let key = UUID().uuidString
        _ = try await peer.session.data(peer.request("/ok-then-flood/\(key)"))
        try await peer.answersElsewhere("/flood-now/\(key)", count: 2)
        let next = try peer.request("/silent/before-head", idle: .seconds(2))
        await expectFlood { try await peer.session.data(next) }
        try await peer.answersElsewhere()
        try await peer.leavesNothing()
    }

    /// Expects the error of a flood, or of a body or a head without bytes.
    private func expectFlood<Success>(_ work: () async throws -> Success) async {
        let error = await expectFailure([.receive, .idleTimeout, .http2], of: work)
        guard error?.kind == .receive else { return }
        #expect(error?.reason == .exchangeFailed(.flooded))
        #expect(error?.isRetryable == false)
    }
}

extension HTTP2Peer {
    fileprivate func request(_ path: String, idle: Duration) throws -> Request {
        try request(path).withTimeouts(Timeouts(connect: nil, responseHead: nil, idle: idle))
    }

    /// Checks that another origin responds, over a connection without a flood.
    fileprivate func answersElsewhere(_ path: String = "/ok/1000", count: Int = 1000) async throws {
        let url = try peer.url("other-\(way.rawValue)", path, scheme: way == .tls ? "https" : "http")
        let (data, _) = try await session.data(url)
        #expect(data.count == count)
    }

    /// Checks that the server has no connection after the session's shutdown.
    fileprivate func leavesNothing() async throws {
        await session.shutdown()
        try await peer.waitUntilAllClosed()
    }
}
