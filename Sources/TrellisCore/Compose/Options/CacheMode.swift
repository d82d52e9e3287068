/// The use of the cache by a request, with the names of the Fetch standard's cache modes.
public enum CacheMode: String, Sendable, Hashable, CaseIterable {
    /// As RFC 9111 has it: a fresh response is used, a stale one is validated, and what may be stored is.
    case `default`
    /// The cache is neither asked nor changed.
    case noStore = "no-store"
    /// The cache is not asked; the response replaces the stored one.
    case reload
    /// A stored response is validated even if it is fresh, unless it is fresh and `immutable` (RFC 8246).
    case noCache = "no-cache"
    /// A stored response is used even if it is stale; without one, the request is sent.
    case forceCache = "force-cache"
    /// A stored response is used even if it is stale; without one, the response is a 504, and no request is sent.
    case onlyIfCached = "only-if-cached"
}
