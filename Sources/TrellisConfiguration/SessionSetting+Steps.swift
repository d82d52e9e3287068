#if Configuration
import TrellisCaching
import TrellisCore

extension SessionSetting {
    /// The settings of the application and network steps.
    static let steps: [SessionSetting] = [retries, limits, stores].flatMap { $0 }

    private static let retries: [SessionSetting] = [
        count("retry.limit", default: "0", from: 0, "The number of retries of a call; 0 for no retry policy") {
            if let count = $1 { $0.retries.retryLimit = count }
        },
        seconds("retry.backoff", default: "0.5", "The span of the first wait") {
            if let time = $1 { $0.retries.exponentialBackoffScale = time }
        },
        number("retry.backoffBase", default: "2", from: 1, "The factor by which the span grows with each retry") {
            $0.retries.exponentialBackoffBase = $1
        },
        seconds("retry.maximumBackoff", default: "30", "The largest span") {
            if let time = $1 { $0.retries.maximumBackoff = time }
        },
        seconds("retry.maximumRetryAfter", default: "60", "The longest `Retry-After` that is waited for") {
            if let time = $1 { $0.retries.maximumRetryAfter = time }
        },
        texts(
            "retry.methods", default: "DELETE, GET, HEAD, OPTIONS, PUT, QUERY, TRACE",
            "The methods that may be sent twice"
        ) {
            $0.retries.retryableHTTPMethods = Set(
                try $1.map { text in
                    guard let method = HTTPRequest.Method(text) else {
                        throw SettingProblem("'\(text)' is not a method")
                    }
                    return method
                })
        },
        counts("retry.statusCodes", default: "408, 429, 500, 502, 503, 504", "The statuses of transient failures") {
            if let code = $1.first(where: { !(100...599).contains($0) }) {
                throw SettingProblem("\(code) is not a status")
            }
            $0.retries.retryableHTTPStatusCodes = Set($1)
        },
        flag("retry.addsIdempotencyKey", default: "false", "Whether other methods get an `Idempotency-Key`") {
            $0.retries.addsIdempotencyKey = $1
        },
        number("retry.budgetRatio", default: "0.1", from: 0, through: 1, "The share of requests that may be retried") {
            $0.retryBudget.ratio = $1
        },
        count("retry.budgetMinimum", default: "10", from: 0, "The retries in a window that are allowed in addition") {
            if let count = $1 { $0.retryBudget.minimum = count }
        },
        seconds("retry.budgetWindow", default: "10", "The time for which requests and retries count") {
            if let time = $1 { $0.retryBudget.window = time }
        },
        seconds("hedging.delay", "The time without a response after which another attempt begins") {
            if let time = $1 { $0.hedging.delay = time }
        },
        count("hedging.maximumExtraAttempts", default: "1", "The number of further attempts of a call") {
            if let count = $1 { $0.hedging.maximumExtraAttempts = count }
        },
    ]

    private static let limits: [SessionSetting] = [
        number(
            "rateLimit.requestsPerSecond", from: 0, excludingZero: true, "The requests to each host in a second"
        ) { $0.rate.requestsPerSecond = $1 },
        count("rateLimit.burst", default: "1", "The number of requests that are sent at once after a pause") {
            if let count = $1 { $0.rate.burst = count }
        },
        seconds(
            "rateLimit.maximumWait", default: "none", none: "none", "The longest wait of a request, which else fails"
        ) { $0.rate.maximumWait = $1 },
        flag("circuitBreaker.enabled", default: "false", "Whether hosts that fail get no requests for a while") {
            $0.breaker.isEnabled = $1
        },
        number(
            "circuitBreaker.failureRatio", default: "0.5", from: 0, through: 1, excludingZero: true,
            "The share of requests that must fail"
        ) { $0.breaker.failureRatio = $1 },
        count("circuitBreaker.minimumRequests", default: "20", "The requests below which the share means nothing") {
            if let count = $1 { $0.breaker.minimumRequests = count }
        },
        seconds("circuitBreaker.window", default: "10", "The time for which requests count") {
            if let time = $1 { $0.breaker.window = time }
        },
        seconds("circuitBreaker.openDuration", default: "5", "The time for which a host gets no requests") {
            if let time = $1 { $0.breaker.openDuration = time }
        },
        flag("redirects.followed", default: "true", "Whether redirects are followed") {
            // A handler of the defaults that follows redirects may decide about each of them.
            if ($0.configuration.steps.redirectHandler?.followsRedirects ?? true) != $1 {
                $0.configuration.steps.redirectHandler = $1 ? .follow : .doNotFollow
            }
        },
        count("redirects.maximum", default: "20", from: 0, "The redirects in a row; with 0, a redirect is an error") {
            if let count = $1 { $0.redirects.maximumRedirects = count }
        },
        flag("redirects.allowsDowngrade", default: "false", "Whether a redirect may lead from https to http") {
            $0.redirects.allowsDowngrade = $1
        },
    ]

    private static let stores: [SessionSetting] = [
        flag("cache.enabled", default: "true with cache.directory, else false", "Whether responses are cached") {
            $0.cache.isEnabled = $1
        },
        text("cache.directory", "The folder of the cache; in memory unless given") {
            guard !$1.isEmpty else { throw SettingProblem("it is empty") }
            $0.cache.directory = $1
        },
        count(
            "cache.maximumSize", unit: "bytes", default: "67108864 in memory, 4294967296 in a folder",
            "The limit on all entries together"
        ) { $0.cache.maximumSize = $1 },
        count(
            "cache.maximumCount", default: "10000 in memory, 1000000 in a folder", "The limit on the number of entries"
        ) { $0.cache.maximumCount = $1 },
        choice(
            "cache.sharing", of: [("private", CachePolicy.Sharing.private), ("shared", .shared)], default: "private",
            "The users of the cache: one, or many"
        ) { $0.cache.sharing = $1 },
        flag("cookies.enabled", default: "true with cookies.file, else false", "Whether cookies are kept") {
            $0.cookies.isEnabled = $1
        },
        text("cookies.file", "The file of the cookies, in Netscape's format; in memory unless given") {
            $0.cookies.file = try path($1)
        },
        flag("hsts.enabled", default: "true with hsts.file, else false", "Whether hosts can ask for https alone") {
            $0.hsts.isEnabled = $1
        },
        text("hsts.file", "The file of these hosts, in curl's format; in memory unless given") {
            $0.hsts.file = try path($1)
        },
        flag(
            "alternativeServices.enabled", default: "true with alternativeServices.file, else false",
            "Whether alternative services are used"
        ) { $0.alternatives.isEnabled = $1 },
        text("alternativeServices.file", "The file of these services, in curl's format; in memory unless given") {
            $0.alternatives.file = try path($1)
        },
    ]

    private static func path(_ text: String) throws -> String {
        guard !text.isEmpty else { throw SettingProblem("it is empty") }
        return text
    }

    private static let logLevels: [(String, RequestLog.Level?)] = [
        ("none", nil), ("calls", .calls), ("verbose", .verbose), ("headers", .headers),
        ("bodies", .bodies(limit: 4096)),
    ]

    /// The settings of logs and events.
    static let observation: [SessionSetting] = [
        choice(
            "log.level",
            of: logLevels, default: "none", "The events that are written to standard error"
        ) { $0.setLogLevel($1) },
        count("eventBufferSize", unit: "events", default: "4096", "The events that are stored for each observer") {
            if let count = $1 { $0.configuration.eventBufferSize = count }
        },
    ]
}
#endif
