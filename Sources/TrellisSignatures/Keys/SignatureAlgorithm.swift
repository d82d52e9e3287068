import CurlEngine

/// An algorithm of HTTP message signatures (RFC 9421, section 3.3).
public enum SignatureAlgorithm: String, Sendable, Hashable, CaseIterable {
    /// HMAC with SHA-256: both sides have the same secret (RFC 9421, section 3.3.3).
    case hmacSHA256 = "hmac-sha256"
    /// Ed25519 (RFC 9421, section 3.3.6).
    case ed25519
    /// ECDSA on the curve P-256 with SHA-256 (RFC 9421, section 3.3.4).
    case ecdsaP256SHA256 = "ecdsa-p256-sha256"
    /// ECDSA on the curve P-384 with SHA-384 (RFC 9421, section 3.3.5).
    case ecdsaP384SHA384 = "ecdsa-p384-sha384"
    /// RSASSA-PKCS1-v1_5 with SHA-256, for peers that have nothing newer (RFC 9421, section 3.3.2).
    case rsaSHA256 = "rsa-v1_5-sha256"
    /// RSASSA-PSS with SHA-512 (RFC 9421, section 3.3.1).
    case rsaPSSSHA512 = "rsa-pss-sha512"

    /// The algorithm for keys of a kind, if none is chosen.
    init(for kind: AsymmetricKey.Kind) {
        switch kind {
        case .rsa, .rsaPSS: self = .rsaPSSSHA512
        case .p256: self = .ecdsaP256SHA256
        case .p384: self = .ecdsaP384SHA384
        case .ed25519: self = .ed25519
        }
    }

    /// Returns the way to sign with a key of a kind; `nil` if the key is for another algorithm.
    func scheme(for kind: AsymmetricKey.Kind) -> AsymmetricKey.Scheme? {
        switch (self, kind) {
        case (.ed25519, .ed25519): .ed25519
        case (.ecdsaP256SHA256, .p256): .ecdsaSHA256
        case (.ecdsaP384SHA384, .p384): .ecdsaSHA384
        case (.rsaSHA256, .rsa): .rsaSHA256
        case (.rsaPSSSHA512, .rsa), (.rsaPSSSHA512, .rsaPSS): .rsaPSSSHA512
        default: nil
        }
    }

    /// The number of bytes of each of the two numbers in an ECDSA signature; `nil` for another algorithm.
    var coordinateLength: Int? {
        switch self {
        case .ecdsaP256SHA256: 32
        case .ecdsaP384SHA384: 48
        case .hmacSHA256, .ed25519, .rsaSHA256, .rsaPSSSHA512: nil
        }
    }
}
