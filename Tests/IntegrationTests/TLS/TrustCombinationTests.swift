import Foundation
import Testing
import Trellis

/// Rules of TLS and evaluators of servers together.
@Suite(.timeLimit(.minutes(1)), .requiresPeers)
struct TrustCombinationTests {
    private func answer(
        from port: String, _ tls: TLSConfiguration, _ manager: ServerTrustManager,
        _ change: (inout SessionConfiguration) throws -> Void = { _ in }
    ) async throws -> String {
        var configuration = SessionConfiguration()
        configuration.tls = tls
        configuration.serverTrustManager = manager
        try change(&configuration)
        let session = Session(configuration: configuration)
        let result: Result<String, any Error>
        do {
            result = .success(try await session.string(TrustPeer.started.value.url(port)))
        } catch {
            result = .failure(error)
        }
        await session.shutdown()
        return try result.get()
    }

    /// The evaluator of revocation knows whether the handshake has checked lists.
    @Test(arguments: RevocationTrustEvaluator.Options.allCases)
    func revocationListsAreACheck(_ options: RevocationTrustEvaluator.Options) async throws {
        let manager = ServerTrustManager(everyHost: RevocationTrustEvaluator(options: options))
        var tls = try await TrustPeer.tls()
        await expectFailure([.trustRefused]) { try await answer(from: "valid", tls, manager) }
        tls.revocationLists = [.file(try await TrustPeer.file("revoking.crl"))]
        if options == .stapledResponse {
            await expectFailure([.trustRefused]) { try await answer(from: "valid", tls, manager) }
        } else {
            #expect(try await answer(from: "valid", tls, manager).hasPrefix("- "))
        }
        await expectFailure([.untrusted]) {
            try await answer(from: "revoked", tls, manager)
        }
    }

    @Test(arguments: RevocationTrustEvaluator.Options.allCases)
    func aStapledResponseIsACheck(_ options: RevocationTrustEvaluator.Options) async throws {
        let manager = ServerTrustManager(everyHost: RevocationTrustEvaluator(options: options))
        var tls = try await TrustPeer.tls()
        tls.requiresStapledResponse = true
        if options == .revocationLists {
            await expectFailure([.trustRefused]) { try await answer(from: "stapled", tls, manager) }
        } else {
            #expect(try await answer(from: "stapled", tls, manager).isEmpty == false)
        }
    }

    /// Without verification for the host, no chain is validated, and evaluators that demand one refuse.
    @Test func aHostWithoutVerificationHasNoValidatedChain() async throws {
        let manager = ServerTrustManager(everyHost: DefaultTrustEvaluator())
        let tls = try await TrustPeer.tls()
        await expectFailure([.trustRefused]) {
            try await answer(from: "valid", tls, manager) {
                $0.tlsForHosts[try HostPattern("127.0.0.1")] = .insecureWithoutAnyVerification()
            }
        }
        #expect(
            try await answer(from: "valid", tls, manager) {
                $0.tlsForHosts[try HostPattern("localhost")] = .insecureWithoutAnyVerification()
            }.hasPrefix("- "))
    }

    /// The client certificate goes to a server that an evaluator of the user's own has trusted.
    @Test func aClientCertificateBehindAnEvaluator() async throws {
        struct Waiting: ServerTrustEvaluating {
            func evaluate(_ trust: ServerTrust, forHost host: String) async throws { await Task.yield() }
        }
        var tls = try await TrustPeer.tls()
        tls.clientIdentity = ClientIdentity(
            certificate: .file(try await TrustPeer.file("client.pem")),
            key: .file(try await TrustPeer.file("client.key")))
        let manager = ServerTrustManager(everyHost: Waiting())
        #expect(try await answer(from: "mtls", tls, manager).hasPrefix("ada "))
    }
}
