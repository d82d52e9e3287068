import CurlEngine
import Testing

@testable import TrellisCore

/// Failures of TLS are those of the peer of their handshake: the server, or the HTTPS proxy.
struct TLSPeerFailureTests {
    private static func failure(_ kind: EngineFailure.Kind) -> TransportFailure {
        TransportFailure(EngineFailure(kind: kind, message: "text"))
    }

    @Test(arguments: [(TLSPeer.server, "text"), (.proxy, "text (with the proxy)")])
    func versions(_ peer: TLSPeer, _ words: String) {
        #expect(Self.failure(.tlsVersion(peer)).reason == .securityFailed(.version(words)))
    }

    @Test(
        arguments: [(.server, .required), (.proxy, .requiredByProxy)]
            as [(TLSPeer, TrellisError.ClientIdentityFailure)])
    func clientCertificates(_ peer: TLSPeer, _ expected: TrellisError.ClientIdentityFailure) {
        let failure = Self.failure(.clientCertificate(.required, alert: 116, peer))
        #expect(failure.reason == .securityFailed(.clientIdentity(expected)))
    }

    /// The certificates of a server are shown with its error; those of a proxy are not the server's.
    @Test(arguments: [TLSPeer.server, .proxy])
    func certificates(_ peer: TLSPeer) {
        var rejected = RejectedCertificate(.selfSigned, host: "a.example", peer: peer, text: "text")
        rejected.sent = [[1, 2]]
        let failure = Self.failure(.untrusted(rejected))
        let expected = UntrustedCertificate(.selfSigned, isOfProxy: peer == .proxy, text: "text")
        #expect(failure.reason == .securityFailed(.untrusted(expected)))
        #expect(failure.sentCertificates == (peer == .server ? [[1, 2]] : []))
    }
}
