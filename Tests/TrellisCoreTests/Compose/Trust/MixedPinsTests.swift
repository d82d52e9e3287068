import FoundationEssentials
import TestSupport
import Testing

@testable import TrellisCore

/// The pins of an evaluator in all their forms: pins, texts and certificates.
struct MixedPinsTests {
    @Test func pinsTextsAndCertificatesStandBesideEachOther() throws {
        let chain = try TestCertificates.chain()
        let (leaf, root) = (chain[0].publicKeyPin, chain[1].publicKeyPin)
        let other = try PublicKeyPin(TestCertificates.otherPin)
        let evaluator = try PublicKeysTrustEvaluator(pins: [leaf, TestCertificates.otherPin, chain[1]])
        #expect(evaluator.pins == [leaf, other, root])
        #expect(try PublicKeysTrustEvaluator(pins: chain).pins == Set(chain.map(\.publicKeyPin)))
    }

    @Test func aTextThatIsNoPinIsAnErrorBesidePins() throws {
        let pin = try TestCertificates.chain()[0].publicKeyPin
        let error = #expect(throws: TrellisError.self) {
            _ = try PublicKeysTrustEvaluator(pins: [pin, "sha256/x"])
        }
        #expect(error?.kind == .invalidRequest)
    }
}
