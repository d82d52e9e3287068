import Trellis

/// Prints what the cache in memory has done for a request.
func explain(_ url: String) async throws {
    var configuration = SessionConfiguration()
    configuration.cache = HTTPCache()  // in memory: at most 64 MiB and 10,000 responses
    let session = Session(configuration: configuration)

    let (data, response) = try await session.data(url)
    print(response.cacheStatus ?? "no cache")  // trellis; fwd=uri-miss; ttl=60; stored
    print(data.count)
}

/// Uses a cache on disk.
func cacheOnDisk(_ configuration: inout SessionConfiguration, session: Session) async {
    let storage = DiskCacheStorage(directory: "/var/cache/fetcher", maximumSize: 1 << 30)
    configuration.cache = HTTPCache(storage: storage)
    // At the end of the process, after the last request:
    await session.shutdown()
    await storage.close()  // saves the index, and lets another process own the folder
}

/// Returns a request whose response is stored for a minute.
func ratesRequest() -> Request {
    let rates = Request("https://example.com/rates").withSteps {
        $0.cachedResponseHandler = .modify { head, _ in
            var head = head
            head.headers[.cacheControl] = "max-age=60"
            return head
        }
    }
    return rates
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

/// Uses a storage of the program's own.
func cacheInRecords(_ configuration: inout SessionConfiguration) {
    configuration.cache = HTTPCache(storage: RecordStorage())
}
