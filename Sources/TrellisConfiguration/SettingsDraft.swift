#if Configuration
import Trellis

/// A configuration in the making: settings that stand alone are applied at once, and those that belong together are collected.
struct SettingsDraft {
    var configuration: SessionConfiguration
    /// The keys of the settings that have values.
    var given: Set<String> = []

    var upload = Bandwidth()
    var download = Bandwidth()
    var tls = TLS()
    var proxy = ProxyParts()
    var resolver = Resolver()
    var retries = RetryPolicy()
    var retryBudget = Budget()
    var hedging = Hedging()
    var rate = RateLimit(requestsPerSecond: 1)
    var breaker = Breaker()
    var redirects: RedirectPolicy
    var cache = Cache()
    var cookies = Store()
    var hsts = Store()
    var alternatives = Store()

    init(configuration: SessionConfiguration) {
        self.configuration = configuration
        redirects = configuration.steps.redirects ?? RedirectPolicy()
    }

    struct Bandwidth {
        var speed = 1
        var burst: Int?

        var limit: BandwidthLimit { BandwidthLimit(bytesPerSecond: speed, burst: burst) }
    }

    struct TLS {
        var authorities: [String] = []
        var trustsSystem = true
        var certificate = ""
        var key: String?
        var passphrase: String?
    }

    struct ProxyParts {
        var url = ""
        var username: String?
        var password: String?
        var authentication = Proxy.Authentication.any
        var exceptions: ProxyExceptions = ""
        var script: PACScript?
        var coolDown: Duration?
    }

    struct Resolver {
        var url = ""
        var bootstrap: [String] = []
    }

    struct Budget {
        var ratio = 0.1
        var minimum = 10
        var window = Duration.seconds(10)
    }

    struct Hedging {
        var delay = Duration.zero
        var maximumExtraAttempts = 1
    }

    struct Breaker {
        var isEnabled = false
        var failureRatio = 0.5
        var minimumRequests = 20
        var window = Duration.seconds(10)
        var openDuration = Duration.seconds(5)
    }

    struct Cache {
        var isEnabled: Bool?
        var directory: String?
        var maximumSize: Int?
        var maximumCount: Int?
        var sharing = CachePolicy.Sharing.private
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
        try completeRetries(&configuration)
        try completeLimits(&configuration)
        if has("redirects.maximum") || has("redirects.allowsDowngrade") { configuration.steps.redirects = redirects }
        try completeCache(&configuration)
        completeStores(&configuration)
        return configuration
    }

    /// Returns whether a setting has a value.
    func has(_ key: String) -> Bool { given.contains(key) }

    /// Checks that no setting of a group has a value without the one that the group needs. Returns whether this one has a value.
    @discardableResult
    func has(_ key: String, neededBy group: String) throws(InvalidSetting) -> Bool {
        if has(key) { return true }
        if let other = given.sorted().first(where: { $0.hasPrefix(group) }) {
            throw InvalidSetting(other, reason: "it means nothing without \(key)")
        }
        return false
    }

    /// Runs a closure whose errors are those of a setting.
    func settingErrors<Value>(to key: String, _ body: () throws -> Value) throws(InvalidSetting) -> Value {
        do {
            return try body()
        } catch {
            throw InvalidSetting(key, error)
        }
    }

    private func completeBandwidth(_ configuration: inout SessionConfiguration) throws(InvalidSetting) {
        if try has("bandwidth.upload", neededBy: "bandwidth.uploadBurst") {
            configuration.bandwidth.upload = upload.limit
        }
        if try has("bandwidth.download", neededBy: "bandwidth.downloadBurst") {
            configuration.bandwidth.download = download.limit
        }
    }
}
#endif
