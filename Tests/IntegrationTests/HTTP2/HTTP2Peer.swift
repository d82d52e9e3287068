import Testing
import Trellis
import TrellisTesting

/// The scripted HTTP/2 server, with a session that uses TLS or prior knowledge.
struct HTTP2Peer: Sendable {
    /// A way to agree on HTTP/2.
    enum Way: String, CaseIterable, Sendable {
        /// TLS with ALPN.
        case tls
        /// Plain TCP with prior knowledge.
        case cleartext
    }

    let peer: Peer
    let session: Session
    let way: Way

    init(
        _ started: Task<Peer, any Error>, _ way: Way, engines: EngineCount = .one, clock: TestClock? = nil,
        leaping: LeapingClock? = nil
    ) async throws {
        peer = try await started.value
        self.way = way
        var configuration = SessionConfiguration()
        configuration.engines = engines
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        configuration.httpVersion = way == .tls ? .http2 : .http2PriorKnowledge
        session =
            if let clock {
                Session(configuration: configuration, clock: clock)
            } else if let leaping {
                Session(configuration, leaping: leaping)
            } else {
                Session(configuration: configuration)
            }
    }

    func request(_ path: String) throws -> Request {
        Request(try peer.url(way.rawValue, path, scheme: way == .tls ? "https" : "http"))
    }

    /// Expects that a scenario of `Tests/Peers/http2_scenarios.py` fails with one of these kinds, and returns the error.
    @discardableResult
    func fails(
        _ path: String, with kinds: TrellisError.Kind..., sourceLocation: SourceLocation = #_sourceLocation
    ) async -> TrellisError? {
        await expectFailure(kinds, sourceLocation) { try await session.data(request(path)) }
    }

    /// Waits until the client's kernel has everything that a scenario with a key sends, and the session has handled that.
    func waitUntilHandled(_ key: String) async throws {
        let scheme = way == .tls ? "https" : "http"
        _ = try await session.data(peer.url("other-\(way.rawValue)", "/sent/\(key)", scheme: scheme))
        await session.settle()
    }

    /// Checks that the next request gets its response, and that the server has no connection after the session's shutdown.
    func isHealthyAndLeavesNothing(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let (data, response) = try await session.data(request("/ok/1000"))
        #expect(data.count == 1000, sourceLocation: sourceLocation)
        #expect(response.version == .http2, sourceLocation: sourceLocation)
        await session.shutdown()
        try await peer.waitUntilAllClosed()
    }
}
