import Testing
import Trellis

/// The scripted HTTP/2 server, and a session that speaks to it over TLS or with prior knowledge.
struct HTTP2Peer: Sendable {
    /// How HTTP/2 comes about.
    enum Way: String, CaseIterable, Sendable {
        /// Over TLS, by ALPN.
        case tls
        /// Over plain TCP, known beforehand.
        case cleartext
    }

    let peer: Peer
    let session: Session
    let way: Way

    init(_ started: Task<Peer, any Error>, _ way: Way) async throws {
        peer = try await started.value
        self.way = way
        var configuration = SessionConfiguration()
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        configuration.httpVersion = way == .tls ? .automatic : .http2PriorKnowledge
        session = Session(configuration: configuration)
    }

    func request(_ path: String) throws -> Request {
        Request(try peer.url(way.rawValue, path, scheme: way == .tls ? "https" : "http"))
    }

    /// A scenario of `Tests/Peers/http2_scenarios.py` fails with one of these kinds.
    @discardableResult
    func fails(
        _ path: String, with kinds: TrellisError.Kind..., sourceLocation: SourceLocation = #_sourceLocation
    ) async -> TrellisError? {
        await expectFailure(kinds, sourceLocation) { try await session.data(request(path)) }
    }

    /// The next request is answered, and after the session's shutdown the server has no connection.
    func isHealthyAndLeavesNothing(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let (data, response) = try await session.data(request("/ok/1000"))
        #expect(data.count == 1000, sourceLocation: sourceLocation)
        #expect(response.version == .http2, sourceLocation: sourceLocation)
        await session.shutdown()
        try await peer.waitUntilAllClosed()
    }
}
