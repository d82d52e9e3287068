#if Configuration
import TrellisCaching
import TrellisCore
import TrellisNameServices

/// A configuration in the making: settings that stand alone are applied at once, and those that belong together are collected. The
/// collected values begin with the defaults'.
struct SettingsDraft {
    var configuration: SessionConfiguration
    /// The keys of the settings that have values.
    var given: Set<String> = []

    var upload: Bandwidth
    var download: Bandwidth
    var tls: TLS
    var proxy = ProxyParts()
    var resolver = Resolver()
    var egress = Egress()
    var retries: RetryPolicy
    var retryBudget: Budget
    var hedging: HedgingPolicy
    var rate: RateLimit
    var breaker: Breaker
    var redirects: RedirectPolicy
    var cache = Cache()
    var cookies = Store()
    var hsts = Store()
    var alternatives = Store()

    init(configuration: SessionConfiguration) {
        self.configuration = configuration
        let steps = configuration.steps
        let policy = configuration.retry ?? RetryPolicy()
        upload = Bandwidth(configuration.bandwidth.upload)
        download = Bandwidth(configuration.bandwidth.download)
        tls = TLS(configuration.tls)
        retries = policy
        retryBudget = Budget(policy.budget)
        hedging = steps.hedging ?? HedgingPolicy(after: .zero)
        rate = steps.rateLimiters.first?.limit ?? RateLimit(requestsPerSecond: 1)
        breaker = Breaker(steps.circuitBreaker)
        redirects = steps.redirects ?? RedirectPolicy()
    }

    struct Bandwidth {
        var speed = 1
        var burst: Int?

        init(_ limit: BandwidthLimit?) {
            guard let limit else { return }
            speed = limit.bytesPerSecond
            // The usual burst follows the speed.
            if limit != BandwidthLimit(bytesPerSecond: limit.bytesPerSecond) { burst = limit.burst }
        }

        var limit: BandwidthLimit { BandwidthLimit(bytesPerSecond: speed, burst: burst) }
    }

    struct TLS {
        var authorities: [CertificateSource]
        var trustsSystem = true
        var certificate: CertificateSource?
        var key: CertificateSource?
        var passphrase: (@Sendable () async throws -> String)?

        init(_ configuration: TLSConfiguration) {
            authorities = configuration.authorities.sources
            if case .only = configuration.authorities { trustsSystem = false }
            let identity = configuration.clientIdentity
            (certificate, key, passphrase) = (identity?.certificate, identity?.key, identity?.passphrase)
        }
    }

    /// The settings of proxies. A value without a setting comes from the defaults' proxy.
    struct ProxyParts {
        var url: String?
        var username: String?
        var password: String?
        var authentication: Proxy.Authentication?
        var exceptions: ProxyExceptions?
        var script: PACScript?
        var coolDown: Duration?
    }

    /// The settings of the resolver. A value without a setting comes from the defaults' resolver.
    struct Resolver {
        var url: String?
        var bootstrap: [String] = []
    }

    /// The settings of the egress policy. A value without a setting comes from the defaults' policy.
    struct Egress {
        var policy: EgressPolicy?
        var allowed: [IPNetwork] = []
        var denied: [IPNetwork] = []
    }

    struct Budget {
        var ratio: Double
        var minimum: Int
        var window: Duration

        init(_ budget: RetryBudget?) {
            let budget = budget ?? RetryBudget()
            (ratio, minimum, window) = (budget.ratio, budget.minimumRetries, budget.window)
        }
    }

    struct Breaker: Equatable {
        var isEnabled: Bool
        var failureRatio: Double
        var minimumRequests: Int
        var window: Duration
        var openDuration: Duration

        init(_ breaker: CircuitBreaker?) {
            isEnabled = breaker != nil
            let breaker = breaker ?? CircuitBreaker()
            (failureRatio, minimumRequests) = (breaker.failureRatio, breaker.minimumRequests)
            (window, openDuration) = (breaker.window, breaker.openDuration)
        }
    }

    struct Cache {
        var isEnabled: Bool?
        var directory: String?
        var maximumSize: Int?
        var maximumCount: Int?
        var sharing: CachePolicy.Sharing?
    }

    /// A store in memory or in a file.
    struct Store {
        var isEnabled: Bool?
        var file: String?
    }
}

extension SettingsDraft {
    /// Returns the configuration with the settings that belong together.
    ///
    /// - Throws: ``InvalidSetting`` for a setting that means nothing without another one, or that contradicts another one.
    func completed() throws(InvalidSetting) -> SessionConfiguration {
        var configuration = configuration
        try completeBandwidth(&configuration)
        try completeTLS(&configuration)
        try completeProxy(&configuration)
        try completeResolver(&configuration)
        try completeEgress(&configuration)
        try completeRetries(&configuration)
        try completeHedging(&configuration)
        try completeLimits(&configuration)
        if has("redirects.maximum") || has("redirects.allowsDowngrade") { configuration.steps.redirects = redirects }
        try completeCache(&configuration)
        completeStores(&configuration)
        return configuration
    }

    /// Returns whether a setting has a value.
    func has(_ key: String) -> Bool { given.contains(key) }

    /// Returns whether a group has settings. None of them may have a value without the one that the group needs.
    ///
    /// - Parameters:
    ///   - group: The beginning of the keys of the group.
    ///   - key: The key of the setting that the group needs.
    ///   - isThere: Whether the defaults have the thing that the group describes, so that it needs no other setting.
    func hasSettings(
        of group: String, needing key: String, unless isThere: Bool = false
    ) throws(InvalidSetting) -> Bool {
        if has(key) { return true }
        guard let other = given.sorted().first(where: { $0.hasPrefix(group) }) else { return false }
        guard isThere else { throw InvalidSetting(other, reason: "it means nothing without \(key)") }
        return true
    }

    /// Sets the level of the logs, or adds one if there is none; removes them if the level is `nil`.
    mutating func setLogLevel(_ level: RequestLog.Level?) {
        guard let level else {
            configuration.eventMonitors.removeAll { $0 is RequestLog }
            return
        }
        var hasLog = false
        for index in configuration.eventMonitors.indices {
            guard let log = configuration.eventMonitors[index] as? RequestLog else { continue }
            configuration.eventMonitors[index] = log.withLevel(level)
            hasLog = true
        }
        if !hasLog { configuration.eventMonitors.append(RequestLog(level)) }
    }

    /// Runs a closure whose errors are a setting's.
    func settingErrors<Value>(to key: String, _ body: () throws -> Value) throws(InvalidSetting) -> Value {
        do {
            return try body()
        } catch {
            throw InvalidSetting(key, error)
        }
    }

    private func completeBandwidth(_ configuration: inout SessionConfiguration) throws(InvalidSetting) {
        let limits = configuration.bandwidth
        if try hasSettings(of: "bandwidth.uploadBurst", needing: "bandwidth.upload", unless: limits.upload != nil) {
            configuration.bandwidth.upload = upload.limit
        }
        if try hasSettings(
            of: "bandwidth.downloadBurst", needing: "bandwidth.download", unless: limits.download != nil)
        {
            configuration.bandwidth.download = download.limit
        }
    }
}
#endif
