import Foundation
import Testing
import Trellis
import TrellisTesting

/// The servers of `pins.py`, with the pins of their chains.
struct PinPeer: Sendable {
    private static let started = Peer.started("pins.py")

    let peer: Peer
    /// The pins of the keys: leaf, intermediate, root, stray, unknown, proxy.
    let pins: [String: String]

    /// - Parameter own: The servers of tests that count bytes or connections; `nil` for those that several suites share.
    init(_ own: Task<Peer, any Error>? = nil) async throws {
        peer = try await (own ?? Self.started).value
        pins = try await peer.answer(to: "pins")
        // The bytes of tests that ran before do not count.
        _ = try await receivedBytes()
    }

    /// A response of the servers over HTTP/1.1.
    struct Answer: Decodable, Equatable {
        /// The number of the request on its connection.
        let request: Int
        /// Whether the connection has resumed a TLS session.
        let resumed: Bool
    }

    func url(_ port: String, _ path: String = "/", host: String = "127.0.0.1") throws -> String {
        try peer.url(port, path, host: host)
    }

    func pin(_ name: String) throws -> String { try #require(pins[name]) }

    /// Returns the number of bytes that the servers over HTTP/1.1 have received inside TLS since the last time.
    func receivedBytes() async throws -> Int { try await peer.answer(to: "bytes") }

    /// Returns an evaluator of the pins of some keys.
    func evaluator(_ names: [String], _ enforcement: PinEnforcement = .enforced) throws -> PublicKeysTrustEvaluator {
        try PublicKeysTrustEvaluator(
            pins: names.map { try pin($0) }, enforcement: enforcement, allowsSinglePin: true)
    }

    /// Returns a session that trusts the root of the servers. It has one engine, and so one connection for requests one after another.
    ///
    /// - Parameter clock: The clock of the session; `nil` for the system's.
    func session(
        _ manager: ServerTrustManager? = nil, clock: TestClock? = nil,
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.engines = .one
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        configuration.serverTrustManager = manager
        change(&configuration)
        return clock.map { Session(configuration: configuration, clock: $0) } ?? Session(configuration: configuration)
    }

    /// Returns a session that demands one of the pins of some keys from every host.
    func session(
        pinning names: [String], _ enforcement: PinEnforcement = .enforced,
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) throws -> Session {
        session(ServerTrustManager(everyHost: try evaluator(names, enforcement)), change)
    }

    /// Sends a GET request and returns what the server tells.
    func get(_ session: Session, _ url: String) async throws -> Answer {
        try await session.decode(Answer.self, from: Request(url))
    }
}
