import Trellis

/// Returns a session with a cache on disk, and the storage, which is closed at the end of the process.
func cachingSession() -> (Session, DiskCacheStorage) {
    let storage = DiskCacheStorage(directory: "/var/cache/fetcher", maximumSize: 1 << 30)
    var configuration = SessionConfiguration()
    configuration.steps.cache = HTTPCache(storage: storage)
    return (Session(configuration: configuration), storage)
}

/// Prints what the cache has done for a request.
func explain(_ url: String, session: Session) async throws {
    let (data, response) = try await session.data(url)
    print(data.count, response.cacheStatus ?? "no cache")
}

/// Returns a request whose response is stored for a minute.
func rates() -> Request {
    Request("https://example.com/rates").withSteps {
        $0.cachedResponseHandler = .modify { head, _ in
            var head = head
            head.headers[.cacheControl] = "max-age=60"
            return head
        }
    }
}

/// Prints what a cache has, and removes it.
func clear(_ cache: HTTPCache) async throws {
    for try await key in cache.storage.keys { print(key) }
    let usage = try await cache.storage.usage
    print(usage.count, usage.size, cache.statistics)
    try await cache.remove("https://example.com/users")
    try await cache.removeAll { $0.url.hasPrefix("https://example.com/") }
    try await cache.removeAll()
}
