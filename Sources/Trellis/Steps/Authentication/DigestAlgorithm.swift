import CurlEngine

/// An algorithm of Digest authentication (RFC 7616, section 3.3).
struct DigestAlgorithm: Hashable, Sendable {
    let hash: MessageDigest.Algorithm
    /// Indicates whether the key is that of a session, made from the first nonces of both sides.
    let isSession: Bool

    /// Creates the algorithm of a name, in any case; `nil` if the name is unknown. Without a name the algorithm is MD5.
    init?(_ name: String?) {
        var name = name?.lowercased() ?? "md5"
        isSession = name.hasSuffix("-sess")
        if isSession { name.removeLast("-sess".count) }
        switch name {
        case "md5": hash = .md5
        case "sha-256": hash = .sha256
        case "sha-512-256": hash = .sha512_256
        default: return nil
        }
    }
}
