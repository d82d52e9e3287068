import CurlEngine

/// An algorithm of Digest authentication (RFC 7616, section 3.3).
struct DigestAlgorithm: Hashable, Sendable {
    let hash: MessageDigest.Algorithm
    /// The key is that of a session: of the first nonces of both sides.
    let isSession: Bool

    /// By its name, in any case; `nil` for one that is not known. MD5 where there is no name.
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
