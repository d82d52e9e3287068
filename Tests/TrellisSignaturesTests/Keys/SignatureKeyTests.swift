import FoundationEssentials
import Testing

@testable import TrellisCore
@testable import TrellisSignatures

/// Keys in PEM and secrets: which of them sign, and with which algorithm.
struct SignatureKeyTests {
    private static let p384 = """
        -----BEGIN PRIVATE KEY-----
        MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDAV3FAX9cjLRkFCKZzX
        PwURehzmke3jdlkKoWkpkvsE0khevM0M86TbXFRGqcl+7NShZANiAARWUCBuwydg
        RJk23kzNtTbs9SveSjjELiHDhsIsePjmRGDRElcno5graJqt906+qBtMEkrGbtgU
        w/RVvcpWwUwnnCcObHeCECtXOQUUETbNuKgeONUPCKgKGyY8pFfJOtY=
        -----END PRIVATE KEY-----
        """

    private static let secp256k1 = """
        -----BEGIN PRIVATE KEY-----
        MIGEAgEAMBAGByqGSM49AgEGBSuBBAAKBG0wawIBAQQgw9WhjLQBwEjiLEPgu2L2
        wMPUQ84VeHt56n4u9tbEsvKhRANCAAStB9Admmn7YiJfv12U/2X3lonWr9n6jutx
        DA9FTctD5DCxW3cbw8LYW6spBMoOuSCzj+LYTM3kLVRh6kRSis+2
        -----END PRIVATE KEY-----
        """

    private static let encrypted = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgZcQuB5xO6CQICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEFdrpc2/KJ1EZhhaTjLcFcEEQFXq
        Y+fdhIhxteUXvuUcZwzwBgFfOK0dy0Eb/n9+/+F1qJGBSi8OiHwZUntLZYk9nulf
        Z5mOLZ8zAxyB6JCOJJQ=
        -----END ENCRYPTED PRIVATE KEY-----
        """

    private static let pairs: [(String, String, SignatureAlgorithm)] = [
        (RFCKeys.rsaPrivate, RFCKeys.rsaPublic, .rsaPSSSHA512), (RFCKeys.rsaPrivate, RFCKeys.rsaPublic, .rsaSHA256),
        (RFCKeys.pssPrivate, RFCKeys.pssPublic, .rsaPSSSHA512),
        (RFCKeys.p256Private, RFCKeys.p256Public, .ecdsaP256SHA256),
        (p384, p384, .ecdsaP384SHA384), (RFCKeys.ed25519Private, RFCKeys.ed25519Public, .ed25519),
    ]

    @Test(arguments: pairs) func whatAKeySignsItsPublicKeyKnows(
        _ secret: String, _ open: String, _ algorithm: SignatureAlgorithm
    ) throws {
        let key = try SignatureKey.pem(secret, algorithm: algorithm)
        let other = try SignatureKey.pem(open, algorithm: algorithm)
        #expect(key.canSign && key.algorithm == algorithm && other.canSign == (secret == open))
        for bytes in [[], Array("text".utf8), [UInt8](repeating: 7, count: 100_000)] {
            let signature = try key.signature(of: bytes)
            #expect(other.isSignature(signature, of: bytes) && key.isSignature(signature, of: bytes))
            #expect(!other.isSignature(signature, of: bytes + [0]))
            if let length = algorithm.coordinateLength { #expect(signature.count == 2 * length) }
        }
    }

    @Test func aPublicKeyDoesNotSign() throws {
        for text in [RFCKeys.pssPublic, RFCKeys.p256Public, RFCKeys.ed25519Public] {
            let key = try SignatureKey.pem(text)
            let error = #expect(throws: TrellisError.self) { try key.signature(of: [1]) }
            #expect(error?.kind == .invalidRequest)
        }
    }

    @Test func anEmptySecretSignsNothing() {
        let key = SignatureKey.hmac([])
        #expect(!key.canSign && !key.isSignature([], of: []))
        #expect(throws: TrellisError.self) { try key.signature(of: [1]) }
    }

    @Test func theAlgorithmIsTheKeysUnlessChosen() throws {
        #expect(try SignatureKey.pem(RFCKeys.p256Public).algorithm == .ecdsaP256SHA256)
        #expect(try SignatureKey.pem(Self.p384).algorithm == .ecdsaP384SHA384)
        #expect(try SignatureKey.pem(RFCKeys.ed25519Public).algorithm == .ed25519)
        #expect(try SignatureKey.pem(RFCKeys.pssPublic).algorithm == .rsaPSSSHA512)
        #expect(try SignatureKey.pem(RFCKeys.rsaPrivate, algorithm: .rsaSHA256).algorithm == .rsaSHA256)
        #expect(SignatureKey.hmac([1]).algorithm == .hmacSHA256)
    }

    private static let mistakes: [(String, SignatureAlgorithm?, TrellisError.Kind)] = [
        ("", nil, .invalidRequest), ("text", nil, .invalidRequest), (encrypted, nil, .invalidRequest),
        (secp256k1, nil, .unsupported), (RFCKeys.p256Private, .ed25519, .invalidRequest),
        (RFCKeys.p256Private, .ecdsaP384SHA384, .invalidRequest), (RFCKeys.ed25519Private, .rsaSHA256, .invalidRequest),
        (RFCKeys.pssPrivate, .rsaSHA256, .invalidRequest), (RFCKeys.rsaPrivate, .hmacSHA256, .invalidRequest),
        (String(RFCKeys.ed25519Private.dropLast(40)), nil, .invalidRequest),
    ]

    @Test(arguments: mistakes) func whatIsNoKeyIsAnError(
        _ text: String, _ algorithm: SignatureAlgorithm?, _ kind: TrellisError.Kind
    ) {
        let error = #expect(throws: TrellisError.self) { try SignatureKey.pem(text, algorithm: algorithm) }
        #expect(error?.kind == kind)
    }

    @Test func aKeyShowsNothing() throws {
        let keys = [try SignatureKey.pem(RFCKeys.ed25519Private, id: "visible"), .hmac(Array("secret".utf8))]
        for key in keys {
            var dumped = ""
            dump(key, to: &dumped)
            for text in ["\(key)", String(reflecting: key), dumped] {
                #expect(!text.contains("secret") && !text.contains("115") && !text.contains("MC4C"))
            }
        }
    }

    // MARK: ECDSA

    @Test func theTwoFormsOfASignatureAreOne() throws {
        for numbers in [
            [UInt8](repeating: 0xFF, count: 64), [UInt8](repeating: 1, count: 64), [UInt8](repeating: 0, count: 64),
        ] {
            let signature = try #require(ECDSASignature(fixed: numbers, 32))
            #expect(ECDSASignature(der: signature.der) == signature)
            #expect(signature.fixed(32) == numbers)
        }
        #expect(ECDSASignature(fixed: [0, 0, 0, 5], 2)?.der == [0x30, 6, 2, 1, 0, 2, 1, 5])
        #expect(ECDSASignature(fixed: [0x80, 0, 0, 0x7F], 2)?.der == [0x30, 8, 2, 3, 0, 0x80, 0, 2, 1, 0x7F])
    }

    @Test func whatIsNoSignatureIsRefused() {
        #expect(ECDSASignature(fixed: [1, 2, 3], 2) == nil)
        let texts: [[UInt8]] = [
            [], [0x30], [0x30, 6, 2, 1, 0, 2, 1], [0x30, 6, 2, 1, 0, 2, 1, 5, 0], [0x31, 6, 2, 1, 0, 2, 1, 5],
            [0x30, 3, 2, 1, 0], [0x30, 0x81, 6, 2, 1, 0, 2, 1, 5], [0x30, 6, 2, 9, 0, 2, 1, 5],
        ]
        for text in texts { #expect(ECDSASignature(der: text) == nil) }
        #expect(ECDSASignature(der: [0x30, 7, 2, 2, 1, 1, 2, 1, 5])?.fixed(1) == nil)
    }
}
