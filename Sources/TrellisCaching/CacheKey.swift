import TrellisCore

/// The name of the responses to a URL in a ``CacheStorage``.
public struct CacheKey: Sendable, Hashable, HashedKey {
    /// The URL without fragment and user information, with its scheme and its host in lower case.
    public let url: String
    /// The text that separates responses to a URL that must not answer each other's requests. It is a digest of the request's secret fields
    /// (in the cache of one user), of the route to the server, and of a `Host` field. Empty for a request without secrets that goes to the
    /// host of its URL, and names it.
    public let partition: String
    /// The hash of both texts, for the several tables of a cache: the hash of a URL takes longer than all else of a search.
    let number: Int

    /// Creates a key.
    public init(url: String, partition: String = "") {
        self.url = url
        self.partition = partition
        var hasher = Hasher()
        hasher.combine(url)
        if !partition.isEmpty { hasher.combine(partition) }
        number = hasher.finalize()
    }

    /// Returns whether both texts are the same.
    public static func == (one: CacheKey, other: CacheKey) -> Bool {
        one.number == other.number && one.url == other.url && one.partition == other.partition
    }

    /// Hashes the key.
    public func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

extension CacheKey: CustomStringConvertible {
    /// The URL, followed by a space and the partition, if there is one. Different keys have different texts, because a URL has no spaces.
    public var description: String { partition.isEmpty ? url : "\(url) \(partition)" }
}
