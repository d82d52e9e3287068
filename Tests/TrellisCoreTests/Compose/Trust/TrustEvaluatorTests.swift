import FoundationEssentials
import TestSupport
import Testing

@testable import TrellisCore

/// The evaluators of servers, with chains in memory.
struct TrustEvaluatorTests {
    private static let host = "www.example.com"

    private static func kind(_ evaluator: any ServerTrustEvaluating, _ trust: ServerTrust) async -> TrellisError.Kind? {
        do {
            try await evaluator.evaluate(trust, forHost: host)
            return nil
        } catch {
            return (error as? TrellisError)?.kind ?? .other
        }
    }

    private static func pins(_ pins: String...) throws -> PublicKeysTrustEvaluator {
        try PublicKeysTrustEvaluator(pins: pins, allowsSinglePin: true)
    }

    @Test(
        arguments: [
            ([TestCertificates.leafPin], nil), ([TestCertificates.rootPin], nil),
            ([TestCertificates.otherPin, TestCertificates.rootPin], nil), ([TestCertificates.otherPin], .pinMismatch),
        ] as [([String], TrellisError.Kind?)])
    func aPinMatchesAnyCertificateOfTheChain(_ pins: [String], _ kind: TrellisError.Kind?) async throws {
        let evaluator = try PublicKeysTrustEvaluator(pins: pins, allowsSinglePin: true)
        #expect(await Self.kind(evaluator, try TestCertificates.trust()) == kind)
    }

    /// A certificate that was only sent along is not a part of the validated chain.
    @Test func aCertificateThatWasMerelySentDoesNotCount() async throws {
        let chain = try TestCertificates.chain()
        let trust = ServerTrust(host: Self.host, chain: [chain[0]], sentChain: chain)
        #expect(await Self.kind(try Self.pins(TestCertificates.rootPin), trust) == .pinMismatch)
        let certificates = try PinnedCertificatesTrustEvaluator(certificates: [chain[1]], allowsSingleCertificate: true)
        #expect(await Self.kind(certificates, trust) == .pinMismatch)
        #expect(await Self.kind(certificates, try TestCertificates.trust()) == nil)
    }

    @Test func aMismatchListsBothSides() throws {
        let evaluator = try PublicKeysTrustEvaluator(pins: [TestCertificates.otherPin], allowsSinglePin: true)
        let trust = try TestCertificates.trust()
        let error = #expect(throws: TrellisError.self) { _ = try evaluator.evaluateAtOnce(trust, forHost: Self.host) }
        let text = error?.description ?? ""
        for part in [Self.host, TestCertificates.leafPin, TestCertificates.rootPin, TestCertificates.otherPin] {
            #expect(text.contains(part))
        }
        #expect(text.contains("configured: " + TestCertificates.otherPin))
        #expect(error?.isRetryable == false && error?.mayHaveSentBytes == false)
    }

    @Test func aMismatchOfCertificatesListsFingerprints() throws {
        let chain = try TestCertificates.chain()
        let evaluator = try PinnedCertificatesTrustEvaluator(certificates: [chain[1]], allowsSingleCertificate: true)
        let trust = ServerTrust(host: Self.host, chain: [chain[0]])
        let error = #expect(throws: TrellisError.self) { _ = try evaluator.evaluateAtOnce(trust, forHost: Self.host) }
        guard case .securityFailed(.pinMismatch(let mismatch)) = error?.reason else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(mismatch.subject == .certificates && mismatch.chain.count == 1 && mismatch.configured.count == 1)
        // The digest of the complete certificate is not the pin of its key.
        #expect(mismatch.chain[0].pin != TestCertificates.leafPin)
    }

    @Test func onePinNeedsABackup() throws {
        let leaf = TestCertificates.leafPin
        let tooFew: [[String]] = [[], [leaf], [leaf, leaf]]
        for pins in tooFew {
            let error = #expect(throws: TrellisError.self) { _ = try PublicKeysTrustEvaluator(pins: pins) }
            #expect(error?.kind == .invalidRequest)
        }
        _ = try PublicKeysTrustEvaluator(pins: [TestCertificates.leafPin, TestCertificates.otherPin])
        #expect(throws: TrellisError.self) { _ = try PublicKeysTrustEvaluator(pins: [], allowsSinglePin: true) }
        #expect(throws: TrellisError.self) {
            _ = try PublicKeysTrustEvaluator(pins: ["sha256/x"], allowsSinglePin: true)
        }
        let chain = try TestCertificates.chain()
        for certificates in [[], [chain[0]], [chain[0], chain[0]]] {
            let error = #expect(throws: TrellisError.self) {
                _ = try PinnedCertificatesTrustEvaluator(certificates: certificates)
            }
            #expect(error?.kind == .invalidRequest)
        }
        _ = try PinnedCertificatesTrustEvaluator(certificates: [chain[0], chain[1]])
        #expect(throws: TrellisError.self) { _ = try CompositeTrustEvaluator(evaluators: []) }
    }

    @Test func expiredPinsAreReportedAndNotEnforced() throws {
        let end = Date(timeIntervalSince1970: 1_800_000_000)
        let trust = try TestCertificates.trust()
        for (pin, isMatch) in [(TestCertificates.otherPin, false), (TestCertificates.leafPin, true)] {
            let evaluator = try PublicKeysTrustEvaluator(
                pins: [pin], enforcement: .enforcedUntil(end), allowsSinglePin: true)
            let reports = try evaluator.evaluate(trust, forHost: Self.host, now: end.addingTimeInterval(1))
            #expect(reports == [.pinsExpired(host: Self.host, since: end)])
            let before = Result { try evaluator.evaluate(trust, forHost: Self.host, now: end) }
            #expect((try? before.get()) == (isMatch ? [] : nil))
        }
    }

    /// Expired pins do not switch off the validation.
    @Test func expiredPinsDemandAValidatedChain() throws {
        let evaluator = try PublicKeysTrustEvaluator(
            pins: [TestCertificates.otherPin], enforcement: .enforcedUntil(.distantPast), allowsSinglePin: true)
        let trust = try TestCertificates.trust(isValidated: false)
        let error = #expect(throws: TrellisError.self) { _ = try evaluator.evaluateAtOnce(trust, forHost: Self.host) }
        #expect(error?.reason == .serverTrust(.notValidated(host: Self.host)))
    }

    @Test func aMismatchIsOnlyReported() throws {
        let evaluator = try PublicKeysTrustEvaluator(
            pins: [TestCertificates.otherPin], enforcement: .reportOnly, allowsSinglePin: true)
        let reports = try evaluator.evaluateAtOnce(try TestCertificates.trust(), forHost: Self.host)
        #expect(reports.count == 1 && reports[0].description.hasSuffix("not enforced"))
        let matching = try PublicKeysTrustEvaluator(
            pins: [TestCertificates.leafPin], enforcement: .reportOnly, allowsSinglePin: true)
        #expect(try matching.evaluateAtOnce(try TestCertificates.trust(), forHost: Self.host).isEmpty)
    }

    /// Without verification, only the certificate of the server itself counts, and only if the creator of the evaluator wants that.
    @Test func chainsThatWereNotValidated() async throws {
        let trust = try TestCertificates.trust(sent: try TestCertificates.chain(), isValidated: false)
        let leaf = [TestCertificates.leafPin], root = [TestCertificates.rootPin]
        #expect(await Self.kind(DefaultTrustEvaluator(), trust) == .trustRefused)
        #expect(await Self.kind(RevocationTrustEvaluator(), trust) == .trustRefused)
        #expect(await Self.kind(DisabledTrustEvaluator(), trust) == nil)
        #expect(await Self.kind(try Self.pins(TestCertificates.leafPin), trust) == .trustRefused)
        for (pins, kind) in [(leaf, nil), (root, .pinMismatch)] as [([String], TrellisError.Kind?)] {
            let evaluator = try PublicKeysTrustEvaluator(
                pins: pins, allowsSinglePin: true, performDefaultValidation: false)
            #expect(await Self.kind(evaluator, trust) == kind)
        }
    }

    @Test(
        arguments: [
            (.any, [], false), (.any, .revocationLists, true), (.any, .stapledResponse, true),
            (.revocationLists, .stapledResponse, false), (.revocationLists, .revocationLists, true),
            (.stapledResponse, .revocationLists, false), (.stapledResponse, .stapledResponse, true),
        ] as [(RevocationTrustEvaluator.Options, ServerTrust.RevocationChecks, Bool)])
    func revocationHasToBeChecked(
        _ options: RevocationTrustEvaluator.Options, _ checks: ServerTrust.RevocationChecks, _ isTrusted: Bool
    ) async throws {
        let kind = await Self.kind(
            RevocationTrustEvaluator(options: options), try TestCertificates.trust(checks: checks))
        #expect(kind == (isTrusted ? nil : .trustRefused))
    }

    private struct Slow: ServerTrustEvaluating {
        func evaluate(_ trust: ServerTrust, forHost host: String) async throws {}
    }

    @Test func aCompositeIsAsSlowAndAsStrictAsItsParts() async throws {
        let leaf = try Self.pins(TestCertificates.leafPin), other = try Self.pins(TestCertificates.otherPin)
        let trust = try TestCertificates.trust()
        let both = try CompositeTrustEvaluator(evaluators: [leaf, DefaultTrustEvaluator()])
        #expect(both.immediate != nil)
        #expect(await Self.kind(both, trust) == nil)
        #expect(await Self.kind(try CompositeTrustEvaluator(evaluators: [leaf, other]), trust) == .pinMismatch)
        let slow = try CompositeTrustEvaluator(evaluators: [both, try CompositeTrustEvaluator(evaluators: [Slow()])])
        #expect(slow.immediate == nil)
        #expect(await Self.kind(slow, trust) == nil)
        #expect(await Self.kind(try CompositeTrustEvaluator(evaluators: [slow, other]), trust) == .pinMismatch)
    }

    @Test func theReportsOfAllPartsAreKept() async throws {
        let reporting = try PublicKeysTrustEvaluator(
            pins: [TestCertificates.otherPin], enforcement: .reportOnly, allowsSinglePin: true)
        let composite = try CompositeTrustEvaluator(
            evaluators: [reporting, Slow(), try CompositeTrustEvaluator(evaluators: [reporting])])
        let reports = try await composite.reports(on: try TestCertificates.trust(), forHost: Self.host)
        #expect(reports.count == 2)
    }
}
