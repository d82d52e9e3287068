import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// The system's file of authorities, which changes under a running session.
@Suite(.timeLimit(.minutes(3)), .requiresPeers)
struct SystemAuthoritiesTests {
    /// The kinds of configurations that trust the system.
    enum Kind: CaseIterable {
        /// A session without sources of its own, whose requests wait for no file.
        case usual
        /// A session with other rules than the usual ones.
        case newest
        /// A session with another authority too.
        case withOthers
        /// A session with a client certificate.
        case withIdentity
        /// A session with rules for hosts.
        case forHosts
    }

    /// Puts an authority into the file, in place of the one before.
    private static func put(_ name: String, into path: String) async throws {
        let data = try Data(contentsOf: URL(filePath: try await TrustPeer.file(name)))
        try data.write(to: URL(filePath: path), options: .atomic)
    }

    private static func session(_ kind: Kind, _ path: String) async throws -> Session {
        var configuration = SessionConfiguration()
        configuration.systemAuthorities = SystemAuthorities(path: path)
        var tls = TLSConfiguration()
        tls.fileCheckInterval = .zero
        switch kind {
        case .usual, .forHosts: break
        case .newest: tls.minimumVersion = .v1_3
        case .withOthers: tls.authorities = .systemAnd([.file(try await TrustPeer.file("clients.pem"))])
        case .withIdentity:
            tls.clientIdentity = ClientIdentity(
                certificate: .file(try await TrustPeer.file("client.pem")),
                key: .file(try await TrustPeer.file("client.key")))
        }
        configuration.tls = tls
        if kind == .forHosts { configuration.tlsForHosts = [try HostPattern("127.0.0.1"): tls] }
        return Session(configuration: configuration)
    }

    /// Returns whether a session trusts the server.
    private static func trusts(_ session: Session, _ url: String) async throws -> Bool {
        do {
            _ = try await session.data(url)
            return true
        } catch let error as TrellisError {
            #expect(error.untrusted?.rule == .unknownIssuer, "\(error)")
            return false
        }
    }

    /// After a change, neither libcurl's copy of the file nor a connection that was made before is used.
    @Test(arguments: Kind.allCases)
    func aChangeIsNoticed(_ kind: Kind) async throws {
        let path = "\(try temporaryFolder("system-\(kind)"))/ca.pem"
        try await Self.put("second.pem", into: path)
        let session = try await Self.session(kind, path)
        let url = try await TrustPeer.started.value.url("valid")
        for _ in 1...2 { #expect(try await !Self.trusts(session, url)) }
        for _ in 1...2 {
            try await Self.put("ca.pem", into: path)
            while try await !Self.trusts(session, url) { try Task.checkCancellation() }
            // Without another change, the connection is used again.
            while try await !session.data(url).1.metrics.isReusedConnection { try Task.checkCancellation() }
            try await Self.put("second.pem", into: path)
            while try await Self.trusts(session, url) { try Task.checkCancellation() }
        }
        await session.shutdown()
    }
}
