#if Redis
import CurlEngine
import FoundationEssentials
import TrellisCaching

/// The names under which the server keeps the entries of a cache.
///
/// | name | type | content |
/// |---|---|---|
/// | `…:h:KEY` | hash | the heads of a key's variants, with small bodies (``RedisCacheRecord``) |
/// | `…:b:KEY:ID` | hash | a body in pieces |
/// | `…:l:KEY:VARIANT` | text | the token of the process that asks the origin (``RedisLease``) |
/// | `…:i:KEY`, `…:all` | number | the last invalidation of a key, and of all keys |
/// | `…:count` | number | the last invalidation of any key |
///
/// They begin with the prefix, the users of the cache and the number of the server's run: what a server has read from a file when it was
/// started may have been invalidated before, and is not used.
struct RedisCacheNames: Sendable {
    /// The number of characters of a digest.
    static let digestLength = 40

    /// The beginning of all names.
    let space: String

    /// - Parameter isShared: Whether the cache is one of many users.
    init(prefix: String, isShared: Bool, run: String) {
        space = "\(prefix):cache:\(isShared ? "shared" : "private"):\(run)"
    }

    /// The number of the last invalidation of any key.
    var count: String { space + ":count" }
    /// The last invalidation of all keys.
    var all: String { space + ":all" }
    /// The patterns of the names of all entries.
    var patterns: [String] { ["\(escapedSpace):h:*", "\(escapedSpace):b:*"] }

    /// Returns the name of the heads of a key.
    func heads(_ key: String) -> String { "\(space):h:\(key)" }
    /// Returns the beginning of the names of the bodies of a key.
    func bodies(_ key: String) -> String { "\(space):b:\(key):" }
    /// Returns the name of the turn of requests for a variant of a key.
    func turn(_ key: String, _ variant: String) -> String { "\(space):l:\(key):\(variant)" }
    /// Returns the name of the last invalidation of a key.
    func invalidation(_ key: String) -> String { "\(space):i:\(key)" }

    /// The beginning of all names, as a pattern that has no other meaning.
    private var escapedSpace: String {
        var bytes: [UInt8] = []
        for byte in space.utf8 {
            if "*?[]^-\\".utf8.contains(byte) { bytes.append(UInt8(ascii: "\\")) }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the digest of a key; `nil` if there is no digest in this process.
    static func digest(of key: CacheKey) -> String? { digest([key.url, key.partition]) }

    /// Returns the digest of a variant's text.
    static func digest(ofVariant variant: String) -> String? { digest([variant]) }

    private static func digest(_ texts: [String]) -> String? {
        MessageDigest.hash(texts.map { "\($0.utf8.count):\($0)" }.joined(), .sha256).map {
            String($0.prefix(digestLength))
        }
    }
}
#endif
