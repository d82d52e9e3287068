import Foundation
import Testing

/// Proxies to which the connection itself is encrypted, and tunnels through them.
@Suite(.timeLimit(.minutes(60))) struct SecureProxyTests {
    private static let peers = Task { try await Server.python("\(Programs.sharedPeers)/https_proxy.py") }

    @Test func aRequestGoesToAProxyOverTLS() async throws {
        let peers = try await SecureProxies(Self.peers.value)
        let run = try await report(["http://far.invalid/a"] + peers.trust + ["--proxy", "https://\(peers["proxy"])"])
        #expect(run.report["proxy"] == "https://\(peers["proxy"])")
        #expect(run.bodyText == "proxy http://far.invalid/a")
    }

    @Test func aTunnelLeadsThroughAProxyOverTLSAndItsPasswordGoesNoFurther() async throws {
        let peers = try await SecureProxies(Self.peers.value)
        let run = try await report(
            ["https://\(peers["server"])/"] + peers.trust + ["--proxy", "https://ada:s3cret@\(peers["proxy"])"])
        #expect(run.report["proxy"] == "https://\(peers["proxy"])")
        #expect(run.bodyText == "server -")
        #expect(!run.text.contains("s3cret") && !run.errors.contains("s3cret"))
    }

    @Test(arguments: ["unknown-ca", "wrong-host", "expired"])
    func aProxyWhoseCertificateIsNotTrustedIsRefused(name: String) async throws {
        let peers = try await SecureProxies(Self.peers.value)
        let run = try await report(
            ["https://\(peers["server"])/"] + peers.trust + ["--proxy", "https://\(peers[name])"], status: 1)
        #expect(run.report.values("error.kind", "error.retryable") == ["untrusted", false])
        #expect(run.errors.lines(with: "the proxy's certificate is not trusted").count == 1, "\(run.errors)")
    }

    @Test func aProxyOfAnAuthorityThatIsNotGivenIsRefused() async throws {
        let peers = try await SecureProxies(Self.peers.value)
        let run = try await report(
            ["https://\(peers["server"])/", "--proxy", "https://\(peers["proxy"])"], status: 1)
        #expect(run.report["error"]["kind"] == "untrusted")
    }
}

/// The proxies with TLS and the servers behind them, which `https_proxy.py` announces.
struct SecureProxies {
    private let announcement: JSON

    init(_ server: Server) throws { announcement = try server.json }

    /// The options that make the client trust the authority.
    var trust: [String] { ["--cacert", announcement["ca"].text] }

    /// The address of a peer.
    subscript(name: String) -> String { "127.0.0.1:\(announcement["ports"][name])" }
}
