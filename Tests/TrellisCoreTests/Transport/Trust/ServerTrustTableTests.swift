import CurlEngine
import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The decisions about the chains of a host, and the memory of what evaluators have accepted.
struct ServerTrustTableTests {
    private struct Slow: ServerTrustEvaluating {
        var failure: TrellisError?
        func evaluate(_ trust: ServerTrust, forHost host: String) async throws { if let failure { throw failure } }
    }

    private static func chain(_ count: Int = 2) throws -> CertificateChain {
        let encodings = try TestCertificates.chain().prefix(count).map { [UInt8]($0.derRepresentation) }
        return CertificateChain(validated: encodings, sent: encodings)
    }

    /// The decision in a word.
    private static func word(_ decision: HostTrust.Decision) -> String {
        switch decision {
        case .accepted(_, let reports): "accepted \(reports.count)"
        case .refused(_, let error): error.kind.rawValue
        case .pending: "pending"
        }
    }

    private func evaluate(_ host: HostTrust, _ chain: CertificateChain, _ clock: TestClock) async throws {
        guard case .pending(let pending) = host.decide(chain, now: clock.engineSide.now()) else {
            Issue.record("the evaluator is not asked")
            return
        }
        try await pending.evaluate(clock: clock.engineSide)
    }

    @Test func anAcceptedChainIsAcceptedForTenMinutes() async throws {
        let host = HostTrust("www.example.com", Slow()), clock = TestClock(), chain = try Self.chain()
        func word() -> String { Self.word(host.decide(chain, now: clock.engineSide.now())) }
        #expect(word() == "pending")
        try await evaluate(host, chain, clock)
        #expect(word() == "accepted 0")
        clock.move(by: .seconds(599))
        #expect(word() == "accepted 0")
        clock.move(by: .seconds(1))
        #expect(word() == "pending")
        try await evaluate(host, chain, clock)
        #expect(word() == "accepted 0")
    }

    /// The acceptance is that of a chain, and not that of the server's certificate.
    @Test func anotherChainOfTheSameCertificateIsEvaluatedAnew() async throws {
        let host = HostTrust("www.example.com", Slow()), clock = TestClock()
        try await evaluate(host, Self.chain(), clock)
        #expect(Self.word(host.decide(try Self.chain(1), now: clock.engineSide.now())) == "pending")
        let sent = CertificateChain(validated: [], sent: try Self.chain().sent)
        #expect(Self.word(host.decide(sent, now: clock.engineSide.now())) == "pending")
    }

    /// An evaluator may refuse what the handshake has agreed on.
    @Test func anotherVersionOrCipherSuiteIsEvaluatedAnew() async throws {
        let host = HostTrust("www.example.com", Slow()), clock = TestClock(), known = try Self.chain()
        func chain(_ version: TransferTrust.Version, _ suite: String) -> CertificateChain {
            CertificateChain(validated: known.validated, sent: known.sent, version: version, cipherSuite: suite)
        }
        try await evaluate(host, chain(.v1_3, "A"), clock)
        for other in [chain(.v1_3, "B"), chain(.v1_2, "A")] { try await evaluate(host, other, clock) }
        for (number, version) in [TransferTrust.Version.v1_3, .v1_2].enumerated() {
            guard case .accepted(let trust, _) = host.decide(chain(version, "A"), now: clock.engineSide.now()) else {
                Issue.record("\(version) is not accepted")
                return
            }
            #expect(trust.tlsVersion == [.v1_3, .v1_2][number] && trust.cipherSuite == "A")
        }
    }

    @Test func aRefusalIsNotRemembered() async throws {
        let clock = TestClock(), chain = try Self.chain()
        for (failure, kind) in [
            (TrellisError(.serverTrust(.revocationNotChecked(host: "x"))), TrellisError.Kind.trustRefused),
            (TrellisError(.connectionFailed(.unreachable("x"))), .trustRefused),
            (
                TrellisError(
                    .securityFailed(.pinMismatch(PinMismatch(.publicKeys, host: "x", chain: [], configured: [])))),
                .pinMismatch
            ),
        ] {
            let host = HostTrust("www.example.com", Slow(failure: failure))
            let error = await #expect(throws: TrellisError.self) { try await evaluate(host, chain, clock) }
            #expect(error?.kind == kind)
            #expect(Self.word(host.decide(chain, now: clock.engineSide.now())) == "pending")
        }
    }

    @Test func thereIsAlwaysADecisionAboutMissingOrUnreadableCertificates() throws {
        let now = TestClock().engineSide.now()
        for evaluator in [DisabledTrustEvaluator(), Slow()] as [any ServerTrustEvaluating] {
            let host = HostTrust("www.example.com", evaluator)
            #expect(Self.word(host.decide(nil, now: now)) == "trust_refused")
            #expect(Self.word(host.decide(CertificateChain(validated: [], sent: []), now: now)) == "trust_refused")
            let unreadable = CertificateChain(validated: [[1, 2, 3]], sent: [])
            #expect(Self.word(host.decide(unreadable, now: now)) == "trust_refused")
        }
    }

    /// A certificate that was merely sent decides nothing, so that it need not be readable. Without a validated chain, the server's own
    /// must be, and no other one takes its place.
    @Test func aSentCertificateThatCannotBeReadIsLeftOut() throws {
        let now = TestClock().engineSide.now(), encodings = try Self.chain().sent
        let host = HostTrust("www.example.com", DisabledTrustEvaluator())
        for validated in [encodings, []] {
            let chain = CertificateChain(validated: validated, sent: [encodings[0], [1, 2, 3], encodings[1]])
            guard case .accepted(let trust, _) = host.decide(chain, now: now) else {
                Issue.record("the server is refused")
                continue
            }
            #expect(try trust.sentChain == TestCertificates.chain())
            #expect(trust.chain.count == (validated.isEmpty ? 1 : 2) && trust.isValidated == !validated.isEmpty)
        }
        let foreign = CertificateChain(validated: [], sent: [[1, 2, 3]] + encodings)
        #expect(Self.word(host.decide(foreign, now: now)) == "trust_refused")
    }

    @Test func theEvaluationsOfOneHostAreShared() throws {
        let table = ServerTrustTable(
            try ServerTrustManager(evaluators: ["example.com": Slow(), "::1": DefaultTrustEvaluator()]))
        #expect(table.mayWait)
        let first = try table.evaluation(for: WireURL(parsing: "https://example.com/a"))
        let second = try table.evaluation(for: WireURL(parsing: "https://EXAMPLE.com:8443/b"))
        #expect(first != nil && first === second && first?.mayWait == true)
        #expect(try table.evaluation(for: WireURL(parsing: "https://[::1]/"))?.mayWait == false)
        #expect(try table.evaluation(for: WireURL(parsing: "http://other.example/")) == nil)
        #expect(throws: TrellisError.self) { _ = try table.evaluation(for: WireURL(parsing: "https://other.example/")) }
    }

    /// A host that a request holds is kept, and so are those of the latest requests. The others are forgotten.
    @Test func manyHostsDoNotResetTheEvaluationsOfTheOthers() async throws {
        let table = ServerTrustTable(ServerTrustManager(everyHost: Slow())), clock = TestClock(),
            chain = try Self.chain()
        func host(_ name: String) throws -> HostTrust {
            try #require(try table.evaluation(for: WireURL(parsing: "https://\(name).example/")))
        }
        func word(_ name: String) throws -> String {
            Self.word(try host(name).decide(chain, now: clock.engineSide.now()))
        }
        for name in ["held", "used", "unused"] { try await evaluate(host(name), chain, clock) }
        let held = try host("held")
        for number in 0..<1500 {
            _ = try host("\(number)")
            if number % 100 == 0 { #expect(try word("used") == "accepted 0") }
        }
        #expect(try host("held") === held)
        #expect(try word("held") == "accepted 0" && word("unused") == "pending")
    }

    /// Hosts in use are kept, however many there are.
    @Test func hostsInUseAreKeptAboveTheLimit() throws {
        let table = ServerTrustTable(ServerTrustManager(everyHost: Slow()))
        let urls = try (0..<1100).map { try WireURL(parsing: "https://\($0).example/") }
        let held = try urls.map { try #require(try table.evaluation(for: $0)) }
        for (url, host) in zip(urls, held) { #expect(try table.evaluation(for: url) === host) }
    }

    /// A host with more chains than are kept forgets the chain that was accepted first.
    @Test func theLatestOfManyChainsIsKept() async throws {
        let host = HostTrust("www.example.com", Slow()), clock = TestClock(), sent = try Self.chain().sent
        let chains = (0..<70).map { count in
            CertificateChain(validated: sent, sent: sent + Array(repeating: sent[1], count: count))
        }
        for chain in chains {
            try await evaluate(host, chain, clock)
            #expect(Self.word(host.decide(chain, now: clock.engineSide.now())) == "accepted 0")
            clock.move(by: .seconds(1))
        }
        let words = chains.map { Self.word(host.decide($0, now: clock.engineSide.now())) }
        #expect(words.suffix(60).allSatisfy { $0 == "accepted 0" } && words[0] == "pending")
    }
}
