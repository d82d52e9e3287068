import CurlEngine
import FoundationEssentials
import TrellisCore

/// A secret that proves that the one who redeems a code has asked for it (RFC 7636).
struct PKCE: Sendable, RedactedDescription {
    let verifier: String

    init(verifier: String) { self.verifier = verifier }

    /// Creates a secret of 256 random bits.
    init() { verifier = Self.random() }

    /// The digest of the secret, which the authorization page gets (section 4.2, `S256`).
    var challenge: String {
        get throws { Self.base64URL(try SHA256Digest.bytes(of: Array(verifier.utf8)[...])) }
    }

    /// Returns 256 random bits as text.
    static func random() -> String {
        var random = SecureRandom()
        return base64URL(Data(random.bytes(32)))
    }

    /// Returns the text of bytes for URLs (RFC 4648, section 5), without padding.
    static func base64URL(_ bytes: Data) -> String {
        bytes.base64EncodedString().replacing(byte: "+", with: "-").replacing(byte: "/", with: "_")
            .replacing(byte: "=", with: "")
    }
}
