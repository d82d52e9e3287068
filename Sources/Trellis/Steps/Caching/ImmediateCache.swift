/// A cache whose storage does not wait, for calls without a task of their own.
final class ImmediateCache: Sendable {
    let cache: HTTPCache
    let storage: any ImmediateCacheStorage
    /// Indicates whether responses are stored that may be; `nil` if a handler decides that may wait.
    let stores: Bool?

    /// Creates the cache of steps; `nil` if they have none, or its storage may wait.
    init?(_ steps: Steps) {
        guard let cache = steps.cache as? HTTPCache, let storage = cache.storage as? any ImmediateCacheStorage else {
            return nil
        }
        (self.cache, self.storage) = (cache, storage)
        stores = steps.cachedResponseHandler.map { ($0 as? ResponseCacher)?.storesAll } ?? true
    }
}

/// The steps of requests whose stored responses need no call.
final class ImmediateHits: Sendable {
    let immediate: ImmediateCache
    let cookies: (any ImmediateCookieStorage)?
    let hasCookies: Bool
    let hasRetriers: Bool
    /// Indicates whether the steps do nothing but cache.
    let isAlone: Bool

    /// Creates the steps; `nil` if a step may change the request before the cache, or the response after it.
    init?(_ steps: Steps) {
        guard let immediate = ImmediateCache(steps), steps.application.isEmpty, steps.adapters.isEmpty,
            steps.network.isEmpty, steps.hedging == nil, steps.signers.isEmpty, steps.exchangeObserver == nil
        else { return nil }
        cookies = steps.cookies as? any ImmediateCookieStorage
        guard steps.cookies == nil || cookies != nil else { return nil }
        hasCookies = cookies != nil
        self.immediate = immediate
        hasRetriers = !steps.retriers.isEmpty
        isAlone = !hasRetriers && !hasCookies && !steps.hasLimits && steps.redirectHandler == nil
    }
}
