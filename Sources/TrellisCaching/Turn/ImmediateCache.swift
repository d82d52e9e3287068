/// A cache whose storage does not wait, for calls without a task of their own.
final class ImmediateCache: Sendable {
    let cache: HTTPCache
    let storage: MemoryCacheStorage
    /// Whether responses are stored that may be; `nil` if a handler decides that may wait.
    let stores: Bool?

    /// Creates the cache of steps; `nil` if they have none, or its storage may wait.
    init?(_ steps: Steps) {
        guard let cache = steps.cache as? HTTPCache, let storage = cache.storage as? MemoryCacheStorage else {
            return nil
        }
        (self.cache, self.storage) = (cache, storage)
        stores = steps.cachedResponseHandler.map { ($0 as? ResponseCacher)?.storesAll } ?? true
    }
}
