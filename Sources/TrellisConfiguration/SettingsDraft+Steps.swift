#if Configuration
import Trellis

/// The settings of steps that belong together.
extension SettingsDraft {
    func completeRetries(_ configuration: inout SessionConfiguration) throws(InvalidSetting) {
        if try has("retry.limit", neededBy: "retry."), retries.retryLimit > 0 {
            var policy = retries
            if has("retry.budgetRatio") || has("retry.budgetMinimum") || has("retry.budgetWindow") {
                policy.budget = RetryBudget(
                    ratio: retryBudget.ratio, minimumRetries: retryBudget.minimum, window: retryBudget.window)
            }
            configuration.steps.intercept(with: policy)
        }
        if try has("hedging.delay", neededBy: "hedging.") {
            configuration.steps.hedging = HedgingPolicy(
                after: hedging.delay, maximumExtraAttempts: hedging.maximumExtraAttempts)
        }
    }

    func completeLimits(_ configuration: inout SessionConfiguration) throws(InvalidSetting) {
        if try has("rateLimit.requestsPerSecond", neededBy: "rateLimit.") {
            configuration.steps.limit(rate: rate)
        }
        guard try has("circuitBreaker.enabled", neededBy: "circuitBreaker.") else { return }
        configuration.steps.circuitBreaker =
            breaker.isEnabled
            ? CircuitBreaker(
                failureRatio: breaker.failureRatio, minimumRequests: breaker.minimumRequests, window: breaker.window,
                openDuration: breaker.openDuration)
            : nil
    }

    func completeCache(_ configuration: inout SessionConfiguration) throws(InvalidSetting) {
        if !has("cache.directory") { try has("cache.enabled", neededBy: "cache.") }
        guard let isEnabled = cache.isEnabled ?? (cache.directory == nil ? nil : true) else { return }
        configuration.steps.cache =
            isEnabled ? HTTPCache(storage: storage, policy: CachePolicy(sharing: cache.sharing)) : nil
    }

    private var storage: any CacheStorage {
        guard let directory = cache.directory else {
            return MemoryCacheStorage(
                maximumSize: cache.maximumSize ?? 64 << 20, maximumCount: cache.maximumCount ?? 10_000)
        }
        return DiskCacheStorage(
            directory: directory, maximumSize: Int64(cache.maximumSize ?? 4 << 30),
            maximumCount: cache.maximumCount ?? 1_000_000)
    }

    func completeStores(_ configuration: inout SessionConfiguration) {
        complete(cookies, &configuration.steps.cookies) { file in
            if let file { CookieFile(path: file) } else { CookieJar() }
        }
        complete(hsts, &configuration.hsts) { file in
            if let file { HSTSStore(file: file) } else { HSTSStore() }
        }
        complete(alternatives, &configuration.alternativeServices) { file in
            if let file { AlternativeServiceStore(file: file) } else { AlternativeServiceStore() }
        }
    }

    /// Sets a store if it is enabled or has a file, and removes it if it is disabled.
    private func complete<Value>(_ store: Store, _ value: inout Value?, _ make: (_ file: String?) -> Value) {
        guard let isEnabled = store.isEnabled ?? (store.file == nil ? nil : true) else { return }
        value = isEnabled ? make(store.file) : nil
    }
}
#endif
