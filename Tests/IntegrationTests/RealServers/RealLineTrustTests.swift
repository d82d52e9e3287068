import CurlEngine
import Foundation
import Testing
import Trellis

/// Every kind of evaluator decides about nginx before it gets a request.
@Suite(.timeLimit(.minutes(3)), .requiresPeers, .requires("nginx"), .requires("openssl"))
struct RealLineTrustTests {
    private static let chain = ["CN=good", "CN=intermediate", "CN=root"]

    /// An evaluator of the user's own, which waits, and demands that the chain ends in an authority.
    private final class EndsIn: ServerTrustEvaluating {
        struct Distrust: Error, Equatable { let host: String }

        private let authority: String
        private let asked = Locked<[String]>([])
        /// The hosts for which it was asked.
        var hosts: [String] { asked.withLock { $0 } }

        init(_ authority: String) { self.authority = authority }

        func evaluate(_ trust: ServerTrust, forHost host: String) async throws {
            asked.withLock { $0.append(host) }
            await Task.yield()
            guard trust.isValidated, trust.chain.last?.subject == authority else { throw Distrust(host: host) }
        }
    }

    /// The reports among the events of a session.
    private final class Reports: EventMonitor {
        private let reports = Locked<[ServerTrustReport]>([])
        var all: [ServerTrustReport] { reports.withLock { $0 } }
        func handle(_ event: RequestEvent) async {
            if case .serverTrustReported(let report) = event.kind { reports.withLock { $0.append(report) } }
        }
    }

    private let server: RealTLSServer
    private let reports = Reports()

    init() async throws { server = try await RealTLSServer.started.value }

    private func session(
        _ manager: ServerTrustManager?, _ change: (inout TLSConfiguration) -> Void = { _ in }
    ) throws -> Session {
        try server.session {
            $0.serverTrustManager = manager
            $0.eventMonitors = [reports]
            change(&$0.tls)
        }
    }

    private func certificates(_ names: String...) throws -> [Certificate] {
        try names.map { name in
            let text = try String(contentsOfFile: server.path("\(name).pem"), encoding: .utf8)
            return try Certificate.certificates(pemRepresentation: text)[0]
        }
    }

    /// Requires that nginx responds on a session.
    private func isTrusted(
        _ session: Session, _ host: String = "good.example", sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        for _ in 1...2 {
            let text = try await session.string("https://\(host)/")
            #expect(text.hasPrefix("TLSv1.3 . "), "\(host)", sourceLocation: sourceLocation)
        }
    }

    /// Requires that a host gets no request, and returns the error.
    private func refusal(
        _ kind: TrellisError.Kind, _ session: Session, _ host: String = "good.example",
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> TrellisError {
        let path = "/refused-\(UUID().uuidString)"
        let failure = await expectFailure([kind], sourceLocation) { try await session.data("https://\(host)\(path)") }
        let error = try #require(failure, sourceLocation: sourceLocation)
        #expect(!error.isRetryable && !error.mayHaveSentBytes, sourceLocation: sourceLocation)
        // nginx handles requests one after the other: one before this would be in the log before it.
        let plain = try server.session()
        _ = try await plain.data("https://plain.example/after\(path)")
        await plain.shutdown()
        let requests = try await server.requests(upTo: "/after\(path)")
        #expect(!requests.contains { $0.hasSuffix(" \(path)") }, sourceLocation: sourceLocation)
        return error
    }

    private func reason(
        _ failure: TrellisError.ServerTrustFailure
    ) -> TrellisError.Reason { .securityFailed(.serverTrustEvaluationFailed(failure)) }

    // MARK: Evaluators

    @Test func theDefaultOne() async throws {
        let manager = ServerTrustManager(everyHost: DefaultTrustEvaluator())
        let session = try session(manager)
        try await isTrusted(session)
        await session.shutdown()
        let insecure = try self.session(manager) { $0 = .insecureWithoutAnyVerification() }
        let error = try await refusal(.trustRefused, insecure)
        #expect(error.reason == reason(.notValidated(host: "good.example")))
        await insecure.shutdown()
        let disabled = try self.session(ServerTrustManager(everyHost: DisabledTrustEvaluator())) {
            $0 = .insecureWithoutAnyVerification()
        }
        try await isTrusted(disabled)
        await disabled.shutdown()
    }

    /// The demand of an evaluator, the checks of the handshake, and whether they suffice.
    @Test(arguments: [
        (RevocationTrustEvaluator.Options.any, false, false, true), (.any, true, false, true),
        (.any, false, true, true), (.revocationLists, false, true, false), (.revocationLists, true, false, true),
        (.revocationLists, false, false, false), (.stapledResponse, false, false, true),
        (.stapledResponse, true, false, true), (.stapledResponse, false, true, true),
        (.stapledResponse, true, true, true),
    ])
    func theOneForRevocation(
        _ options: RevocationTrustEvaluator.Options, _ hasLists: Bool, _ isStapled: Bool, _ isEnough: Bool
    ) async throws {
        let manager = ServerTrustManager(everyHost: RevocationTrustEvaluator(options: options))
        let session = try session(manager) {
            if hasLists { $0.revocationLists = [.file(server.path("revoking.crl"))] }
            $0.requiresStapledResponse = isStapled
        }
        if isEnough {
            try await isTrusted(session)
        } else {
            let error = try await refusal(.trustRefused, session)
            #expect(error.reason == reason(.revocationNotChecked(host: "good.example")))
        }
        await session.shutdown()
    }

    /// The handshake asks for the stapled response that the evaluator needs: nothing else in the session does.
    @Test(arguments: [("revoked", UntrustedCertificate.Rule.revoked), ("plain", .stapledResponse)])
    func theOneForRevocationRefuses(_ name: String, _ rule: UntrustedCertificate.Rule) async throws {
        let session = try session(ServerTrustManager(everyHost: RevocationTrustEvaluator()))
        let error = try await refusal(.untrusted, session, "\(name).example")
        #expect(error.untrusted?.rule == rule, "\(error)")
        try await isTrusted(session)
        await session.shutdown()
    }

    @Test(arguments: ["good", "intermediate", "root"])
    func aPinnedCertificateOfTheChain(_ name: String) async throws {
        let evaluator = try PinnedCertificatesTrustEvaluator(certificates: certificates(name, "stranger"))
        let session = try session(ServerTrustManager(everyHost: evaluator))
        try await isTrusted(session)
        await session.shutdown()
    }

    @Test func noPinnedCertificate() async throws {
        let evaluator = try PinnedCertificatesTrustEvaluator(certificates: certificates("stranger", "second"))
        let session = try session(ServerTrustManager(everyHost: evaluator))
        let error = try await refusal(.pinMismatch, session)
        await session.shutdown()
        guard case .securityFailed(.pinMismatch(let mismatch)) = error.reason else {
            Issue.record("\(error)")
            return
        }
        #expect(mismatch.subject == .certificates && mismatch.host == "good.example")
        #expect(mismatch.chain.map(\.subject) == Self.chain && mismatch.configured.count == 2)
        // The fingerprints are not the pins of the keys.
        let pin = try server.pin("good")
        #expect(!mismatch.chain.contains { $0.pin == pin })
    }

    @Test func ofSeveralEvaluatorsAllAreAsked() async throws {
        let (root, second) = (EndsIn("CN=root"), EndsIn("CN=second"))
        let (pins, wrong) = (try keys("intermediate"), try keys("stranger"))
        func session(_ evaluators: any ServerTrustEvaluating...) throws -> Session {
            try self.session(ServerTrustManager(everyHost: try CompositeTrustEvaluator(evaluators: evaluators)))
        }
        let good = try session(DefaultTrustEvaluator(), pins, root)
        try await isTrusted(good)
        await good.shutdown()
        #expect(root.hosts == ["good.example"])
        // The first error counts, and the evaluators after it are not asked.
        let mismatched = try session(root, wrong, second)
        let mismatch = try await refusal(.pinMismatch, mismatched)
        #expect(mismatch.underlying == nil && root.hosts.count == 2 && second.hosts.isEmpty)
        await mismatched.shutdown()
        let refused = try session(pins, root, second, wrong)
        let distrust = try await refusal(.trustRefused, refused).underlying as? EndsIn.Distrust
        #expect(distrust == EndsIn.Distrust(host: "good.example") && second.hosts.count == 1)
        await refused.shutdown()
    }

    @Test func oneOfTheUsersOwn() async throws {
        let (root, second) = (EndsIn("CN=root"), EndsIn("CN=second"))
        let manager = try ServerTrustManager(evaluators: ["good.example": second, "plain.example": root])
        let session = try session(manager)
        for count in 1...2 {
            let error = try await refusal(.trustRefused, session)
            #expect(error.reason == reason(.customEvaluationFailed(host: "good.example")))
            let distrust = error.underlying as? EndsIn.Distrust
            #expect(distrust == EndsIn.Distrust(host: "good.example"))
            // A refusal is not remembered, but trust is.
            try await isTrusted(session, "plain.example")
            #expect(second.hosts.count == count && root.hosts == ["plain.example"])
        }
        await session.shutdown()
    }

    private func keys(_ name: String, _ enforcement: PinEnforcement = .enforced) throws -> PublicKeysTrustEvaluator {
        try PublicKeysTrustEvaluator(pins: [server.pin(name)], enforcement: enforcement, allowsSinglePin: true)
    }

    @Test(arguments: [false, true])
    func pinsAreEnforcedUntilAnInstant(_ isOver: Bool) async throws {
        let end = Date(timeIntervalSinceNow: isOver ? -60 : 3600)
        let pins = try keys("stranger", .enforcedUntil(end))
        let certificates = try PinnedCertificatesTrustEvaluator(
            certificates: certificates("stranger", "second"), enforcement: .enforcedUntil(end))
        let manager = try ServerTrustManager(evaluators: ["good.example": pins, "plain.example": certificates])
        let session = try session(manager)
        for host in ["good.example", "plain.example"] {
            if isOver {
                try await isTrusted(session, host)
            } else {
                _ = try await refusal(.pinMismatch, session, host)
            }
        }
        await session.shutdown()
        let hosts = isOver ? ["good.example", "good.example", "plain.example", "plain.example"] : []
        #expect(reports.all == hosts.map { ServerTrustReport.pinsExpired(host: $0, since: end) })
    }

    // MARK: Hosts

    /// A pattern beside an evaluator that trusts no server, and the hosts that it matches.
    @Test(arguments: [
        ("good.example", ["good.example"]), ("*.good.example", ["a.good.example"]),
        ("**.good.example", ["good.example", "a.good.example"]), ("*.example", ["good.example", "plain.example"]),
        ("**.example", ["good.example", "a.good.example", "plain.example"]), ("GOOD.example.", ["good.example"]),
    ])
    func patterns(_ pattern: String, _ hosts: [String]) async throws {
        let manager = try ServerTrustManager(evaluators: [pattern: DefaultTrustEvaluator()])
        let session = try session(manager)
        for host in ["good.example", "a.good.example", "plain.example"] {
            if hosts.contains(host) {
                try await isTrusted(session, host)
            } else {
                let error = try await refusal(.trustRefused, session, host)
                #expect(error.reason == reason(.noRequiredEvaluator(host: host)))
            }
        }
        await session.shutdown()
    }

    /// The pins of the most specific pattern count.
    @Test func theMostSpecificPatternCounts() async throws {
        let (good, wrong) = (try keys("good"), try keys("stranger"))
        let rows: [(evaluators: [String: any ServerTrustEvaluating], trusted: [String])] = [
            (["**.example": wrong, "*.example": good], ["good.example", "plain.example"]),
            (["**.example": wrong, "plain.example": good], ["plain.example"]),
            (["**.example": wrong, "**.good.example": good], ["good.example", "a.good.example"]),
            (
                ["**.good.example": wrong, "*.good.example": good, "plain.example": good],
                ["a.good.example", "plain.example"]
            ),
        ]
        for row in rows {
            let session = try session(ServerTrustManager(evaluators: row.evaluators))
            for host in ["good.example", "a.good.example", "plain.example"] {
                if row.trusted.contains(host) {
                    try await isTrusted(session, host)
                } else {
                    _ = try await refusal(.pinMismatch, session, host)
                }
            }
            await session.shutdown()
        }
    }

    @Test(arguments: [false, true])
    func aHostWithoutAnEvaluator(_ mustBeEvaluated: Bool) async throws {
        let root = EndsIn("CN=root")
        let manager = try ServerTrustManager(
            allHostsMustBeEvaluated: mustBeEvaluated, evaluators: ["good.example": root])
        let session = try session(manager)
        try await isTrusted(session)
        if mustBeEvaluated {
            let error = try await refusal(.trustRefused, session, "plain.example")
            #expect(error.reason == reason(.noRequiredEvaluator(host: "plain.example")))
            #expect(error.description.contains("plain.example"))
        } else {
            #expect(try await session.string("https://plain.example/").hasPrefix("TLSv1.3 "))
        }
        #expect(root.hosts == ["good.example"])
        await session.shutdown()
    }

    // MARK: The chain

    /// Without a manager, the certificates are part of a response that asks for them.
    @Test(arguments: [HTTPVersionPolicy.http1Only, .automatic])
    func theChainOnRequest(_ version: HTTPVersionPolicy) async throws {
        let session = try session(nil)
        var request = Request("https://good.example/")
        request.httpVersion = version
        let (_, without) = try await session.data(request)
        #expect(without.serverTrust == nil)
        let (_, response) = try await session.data(request.collectingServerTrust())
        let trust = try #require(response.serverTrust)
        #expect(response.metrics.isReusedConnection && trust.isValidated && trust.host == "good.example")
        #expect(trust.chain.map(\.subject) == Self.chain && trust.revocationChecks.isEmpty)
        #expect(trust.sentChain.map(\.subject) == Array(Self.chain.prefix(2)))
        let expected = try certificates("good", "intermediate", "root")
        #expect(trust.chain == expected)
        await session.shutdown()
    }
}
