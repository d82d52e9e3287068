#if Configuration
import TrellisCaching
import TrellisCore
import TrellisUpgrades

/// The settings of steps that belong together.
extension SettingsDraft {
    func completeRetries(_ configuration: inout SessionConfiguration) throws(InvalidSetting) {
        let isThere = configuration.retry != nil
        guard try hasSettings(of: "retry.", needing: "retry.limit", unless: isThere) else { return }
        if has("retry.limit"), retries.retryLimit == 0 {
            configuration.retry = nil
            return
        }
        var policy = retries
        if has("retry.budgetRatio") || has("retry.budgetMinimum") || has("retry.budgetWindow") {
            let budget = RetryBudget(
                ratio: retryBudget.ratio, minimumRetries: retryBudget.minimum, window: retryBudget.window)
            // A budget that retries and hedges share stays one for both.
            if let shared = policy.budget, configuration.steps.hedging?.budget === shared {
                configuration.steps.hedging?.budget = budget
            }
            policy.budget = budget
        }
        configuration.retry = policy
    }

    func completeHedging(_ configuration: inout SessionConfiguration) throws(InvalidSetting) {
        let present = configuration.steps.hedging
        guard try hasSettings(of: "hedging.", needing: "hedging.delay", unless: present != nil) else { return }
        var policy = hedging
        if let present { policy.budget = present.budget }
        configuration.steps.hedging = policy
    }

    func completeLimits(_ configuration: inout SessionConfiguration) throws(InvalidSetting) {
        let rates = configuration.steps.rateLimiters.map(\.limit)
        let isLimited = try hasSettings(
            of: "rateLimit.", needing: "rateLimit.requestsPerSecond", unless: !rates.isEmpty)
        if isLimited, rates != [rate] { configuration.steps.rateLimiters = [RateLimiter(rate)] }
        let present = configuration.steps.circuitBreaker
        let isGiven = try hasSettings(of: "circuitBreaker.", needing: "circuitBreaker.enabled", unless: present != nil)
        // A breaker of the defaults knows the hosts that fail, and stays unless one of its rules changes.
        guard isGiven, breaker != Breaker(present) else { return }
        configuration.steps.circuitBreaker =
            breaker.isEnabled
            ? CircuitBreaker(
                failureRatio: breaker.failureRatio, minimumRequests: breaker.minimumRequests, window: breaker.window,
                openDuration: breaker.openDuration)
            : nil
    }

    func completeCache(_ configuration: inout SessionConfiguration) throws(InvalidSetting) {
        let present = configuration.cache as? HTTPCache
        if !has("cache.directory") {
            guard try hasSettings(of: "cache.", needing: "cache.enabled", unless: configuration.cache != nil)
            else { return }
        }
        guard cache.isEnabled ?? true else {
            configuration.cache = nil
            return
        }
        if configuration.cache != nil, present == nil, cache.sharing == nil, !changesStorage { return }
        var policy = present?.policy ?? CachePolicy()
        if let sharing = cache.sharing { policy.sharing = sharing }
        // A cache of the defaults has responses and requests under way, and stays unless one of its parts changes.
        if let present, policy == present.policy, !changesStorage { return }
        configuration.cache = HTTPCache(storage: try storage(present?.storage), policy: policy)
    }

    /// Whether the storage of the cache has settings.
    private var changesStorage: Bool {
        has("cache.directory") || has("cache.maximumSize") || has("cache.maximumCount")
    }

    /// Returns the storage of the cache: the defaults', with the settings. A folder has the limits of folders.
    private func storage(_ present: (any CacheStorage)?) throws(InvalidSetting) -> any CacheStorage {
        if let present, !changesStorage { return present }
        let (memory, disk) = (present as? MemoryCacheStorage, present as? DiskCacheStorage)
        if let directory = cache.directory ?? disk?.directory {
            let start = disk ?? DiskCacheStorage(directory: directory)
            // The usual limit on a body follows that on all.
            let body: Int64? = start.maximumBodySize == start.maximumSize / 2 ? nil : start.maximumBodySize
            return DiskCacheStorage(
                directory: directory, maximumSize: cache.maximumSize.map { Int64($0) } ?? start.maximumSize,
                maximumCount: cache.maximumCount ?? start.maximumCount, maximumBodySize: body)
        }
        if present != nil, memory == nil {
            let key = has("cache.maximumSize") ? "cache.maximumSize" : "cache.maximumCount"
            throw InvalidSetting(key, reason: "the storage of the program's cache has no such limit")
        }
        let start = memory ?? MemoryCacheStorage()
        let body: Int? = start.maximumBodySize == start.maximumSize / 8 ? nil : start.maximumBodySize
        return MemoryCacheStorage(
            maximumSize: cache.maximumSize ?? start.maximumSize,
            maximumCount: cache.maximumCount ?? start.maximumCount, maximumBodySize: body)
    }

    func completeStores(_ configuration: inout SessionConfiguration) {
        complete(cookies, &configuration.cookies) { file in
            if let file { CookieFile(path: file) } else { CookieJar() }
        }
        complete(hsts, &configuration.hsts) { file in
            if let file { HSTSStore(file: file) } else { HSTSStore() }
        }
        complete(alternatives, &configuration.alternativeServices) { file in
            if let file { AlternativeServiceStore(file: file) } else { AlternativeServiceStore() }
        }
    }

    /// Sets a store if it is enabled or has a file, and removes it if it is disabled. A store of the defaults stays if it is enabled
    /// without a file.
    private func complete<Value>(_ store: Store, _ value: inout Value?, make: (_ file: String?) -> Value) {
        guard let isEnabled = store.isEnabled ?? (store.file == nil ? nil : true) else { return }
        if isEnabled, store.file == nil, value != nil { return }
        value = isEnabled ? make(store.file) : nil
    }
}
#endif
