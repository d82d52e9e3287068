import Testing
import Trellis

/// A server shows a certificate that has expired, after it has ended a reused connection without a response.
@Suite(.timeLimit(.minutes(3)), .serialized, .requiresPeers)
struct ReplacedCertificateTests {
    private func failure(_ request: (String) -> Request, _ kind: TrellisError.Kind) async throws -> TrellisError {
        let session = TrustPeer.session(try await TrustPeer.tls())
        let url = try await TrustPeer.started.value.url("replaced")
        #expect(try await session.string(url).hasPrefix("- "))
        let error = await expectFailure([kind]) { try await session.data(request(url)) }
        // The reused connection has carried the request.
        #expect(error?.mayHaveSentBytes == true)
        await session.shutdown()
        return try #require(error)
    }

    /// The request may be sent again, and the reason why it cannot be is told completely.
    @Test func aRepeatedRequestKeepsTheReason() async throws {
        let certificate = try #require(try await failure({ Request($0) }, .untrusted).untrusted)
        guard case .expired(_?) = certificate.rule else {
            Issue.record("\(certificate)")
            return
        }
        #expect(certificate.depth == 0 && certificate.subject == "CN=expired")
    }

    /// The server may have performed the request, so that an error about its certificate would be misleading.
    @Test func aRequestThatIsNotRepeatedIsLost() async throws {
        let error = try await failure({ Request($0, method: .post, body: .string("abc")) }, .receive)
        #expect(error.reason == .exchangeFailed(.connectionLost) && error.isRetryable == false)
    }
}
