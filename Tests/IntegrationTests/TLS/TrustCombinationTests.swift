import Foundation
import Testing
import Trellis

/// Rules of TLS and evaluators of servers together.
@Suite(.timeLimit(.minutes(3)), .requiresPeers)
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
        // Without lists, only a stapled response could meet the others, which the server does not send.
        let kind = options == .revocationLists ? TrellisError.Kind.trustRefused : .untrusted
        await expectFailure([kind]) { try await answer(from: "valid", tls, manager) }
        tls.revocationLists = [.file(try await TrustPeer.file("revoking.crl"))]
        if options == .stapledResponse {
            await expectFailure([.untrusted]) { try await answer(from: "valid", tls, manager) }
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

    /// An evaluator that needs a stapled response has the handshake ask for one, also as a part of another evaluator.
    @Test(arguments: [RevocationTrustEvaluator.Options.any, .stapledResponse], [false, true])
    func anEvaluatorAsksForTheStapledResponse(
        _ options: RevocationTrustEvaluator.Options, _ isPart: Bool
    ) async throws {
        var evaluator: any ServerTrustEvaluating = RevocationTrustEvaluator(options: options)
        if isPart { evaluator = try CompositeTrustEvaluator(evaluators: [DefaultTrustEvaluator(), evaluator]) }
        let manager = try ServerTrustManager(evaluators: ["127.0.0.1": evaluator])
        let tls = try await TrustPeer.tls()
        #expect(try await answer(from: "stapled", tls, manager).isEmpty == false)
        let refused: [(String, UntrustedCertificate.Rule)] = [
            ("stapled-revoked", .revoked), ("valid", .stapledResponse),
        ]
        for (port, rule) in refused {
            let error = await expectFailure([.untrusted]) { try await answer(from: port, tls, manager) }
            #expect(error?.untrusted?.rule == rule && error?.mayHaveSentBytes == false, "\(port)")
        }
    }

    /// The demand of an evaluator concerns its own hosts alone.
    @Test func otherHostsAreNotAskedForAStapledResponse() async throws {
        let manager = try ServerTrustManager(
            allHostsMustBeEvaluated: false, evaluators: ["other.example": RevocationTrustEvaluator()])
        let tls = try await TrustPeer.tls()
        #expect(try await answer(from: "valid", tls, manager).hasPrefix("- "))
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

    /// The servers of the test alone, which counts their connections.
    private static let counted = Peer.started("pins.py")

    /// Without verification, libcurl does not distinguish the TLS sessions of client certificates, which must not be resumed then.
    @Test(.serialized, arguments: [false, true])
    func aProxyWithAClientCertificateAndWithoutVerification(_ hasIdentity: Bool) async throws {
        let peer = try await PinPeer(Self.counted)
        let proxy = try Proxy(peer.url("asking", ""))
        let folder = URL(filePath: peer.peer.announcement.ca).deletingLastPathComponent()
        var tls = TLSConfiguration.insecureWithoutAnyVerification()
        if hasIdentity {
            tls.clientIdentity = ClientIdentity(certificate: .file(folder.appending(path: "client.pem").path))
        }
        let rules = [try HostPattern("127.0.0.1"): tls]
        let session = peer.session {
            $0.proxy = .always(proxy)
            $0.tlsForHosts = rules
        }
        let url = try peer.url("chain", "/close", host: "localhost")
        for _ in 1...2 { _ = try await peer.get(session, url) }
        await session.shutdown()
        #expect(try await peer.peer.answer(to: "resumed") == [false, !hasIdentity])
    }

    /// The most specific pattern decides, for evaluators and for rules of TLS, whatever the order of the patterns.
    @Test(arguments: [
        ("other.example", "**.other.example"), ("a.other.example", "*.other.example"),
        ("b.other.example", "b.other.example"),
    ])
    func theMostSpecificPatternApplies(_ host: String, _ pattern: String) async throws {
        struct Distrust: Error, Equatable { let pattern: String }
        struct Refusing: ServerTrustEvaluating {
            let pattern: String
            func evaluate(_ trust: ServerTrust, forHost host: String) async throws { throw Distrust(pattern: pattern) }
        }
        let patterns = ["**.example", "**.other.example", "*.other.example", "b.other.example"]
        let url = try await TrustPeer.started.value.url("wrong-host", host: host)
        let trusted = try await TrustPeer.tls()
        func failure(_ change: (inout SessionConfiguration) throws -> Void) async throws -> TrellisError? {
            var configuration = SessionConfiguration()
            configuration.tls = trusted
            configuration.route.connectTo = [try ConnectTo("::127.0.0.1:")]
            try change(&configuration)
            let session = Session(configuration: configuration)
            let error = await #expect(throws: TrellisError.self) { try await session.string(url) }
            await session.shutdown()
            return error
        }
        let refused = try await failure {
            $0.serverTrustManager = try ServerTrustManager(
                evaluators: Dictionary(uniqueKeysWithValues: patterns.map { ($0, Refusing(pattern: $0)) }))
        }
        #expect(refused?.kind == .trustRefused && refused?.underlying as? Distrust == Distrust(pattern: pattern))
        // Each rule reads another file that is missing.
        let unread = try await failure {
            for pattern in patterns {
                let missing = CertificateSource.file("/no/\(pattern)")
                $0.tlsForHosts[try HostPattern(pattern)] = TLSConfiguration(authorities: .only([missing]))
            }
        }
        #expect(unread?.kind == .file && unread?.description.contains("/no/\(pattern)") == true, "\(unread as Any)")
        // One rule alone lets the request through.
        var configuration = SessionConfiguration()
        configuration.route.connectTo = [try ConnectTo("::127.0.0.1:")]
        for pattern in patterns { configuration.tlsForHosts[try HostPattern(pattern)] = TLSConfiguration() }
        configuration.tlsForHosts[try HostPattern(pattern)] = trusted
        let session = Session(configuration: configuration)
        #expect(try await session.string(url).hasPrefix("- "))
        await session.shutdown()
    }
}
