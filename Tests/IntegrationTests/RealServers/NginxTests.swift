import Foundation
import Testing
import Trellis
import TrellisTesting

/// The framework works with nginx, which asks for client certificates and passes requests on.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requires("nginx"))
struct NginxTests {
    private let peer: Peer

    init() async throws { peer = try await Peer.realServers.value }

    private func session(_ change: (inout SessionConfiguration) -> Void = { _ in }) -> Session {
        peer.session(change)
    }

    /// The path of the file with a client certificate of the servers' authority.
    private var clientFile: String {
        URL(filePath: peer.announcement.ca).deletingLastPathComponent().appending(path: "client.pem").path
    }

    static let versions: [HTTPVersionPolicy] = [.http1Only, .automatic]

    @Test(arguments: versions)
    func aClientCertificate(_ version: HTTPVersionPolicy) async throws {
        var configuration = TLSConfiguration(additionalCertificateAuthorityFile: peer.announcement.ca)
        configuration.clientIdentity = ClientIdentity(certificate: .file(clientFile))
        let (tls, host) = (configuration, try HostPattern("127.0.0.1"))
        let with = session { $0.tlsForHosts = [host: tls] }
        let without = session()
        var request = Request(try peer.url("nginx", "/client"))
        request.httpVersion = version
        for _ in 1...2 {
            #expect(try await with.string(request).hasPrefix("TLSv1.3 SUCCESS "))
            #expect(try await without.string(request) == "TLSv1.3 NONE ")
        }
        await with.shutdown()
        await without.shutdown()
    }

    @Test(arguments: [TLSVersion.v1_2, .v1_3])
    func versionsOfTLS(_ version: TLSVersion) async throws {
        let session = session {
            $0.tls.minimumVersion = version
            $0.tls.maximumVersion = version
        }
        #expect(try await session.string(peer.url("nginx", "/client")) == "TLSv\(version.rawValue) NONE ")
        await session.shutdown()
    }

    /// A body and its response pass through nginx as they are.
    @Test(arguments: versions)
    func bodiesArePassedOn(_ version: HTTPVersionPolicy) async throws {
        let server = try LoopbackServer.http { .text("\($0.method) \($0.target) \($0.bodyLength)") }
        let session = session()
        var request = Request(
            try peer.url("nginx", "/to/\(server.port)/a/b?c=d"), method: .post,
            body: .data(Data(repeating: 7, count: 300_000)))
        request.httpVersion = version
        #expect(try await session.string(request) == "POST /a/b?c=d 300000")
        await session.shutdown()
    }
}
