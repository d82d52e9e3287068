#if Configuration
import Foundation
import TrellisCaching
import TrellisUpgrades

@testable import TrellisCore

/// The cases of the settings of steps, and of logs and events.
extension SettingCase {
    private static let retrying: [String: SettingValue] = ["retry.limit": .int(3)]

    static let retries: [SettingCase] = [
        SettingCase("retry.limit", .int(3), "3") { policy($0).map { "\($0.retryLimit)" } ?? "none" },
        SettingCase("retry.backoff", .double(0.25), with: retrying, "0.25 seconds") {
            text(policy($0)?.exponentialBackoffScale)
        },
        SettingCase("retry.backoffBase", .double(1.5), with: retrying, "1.5") {
            "\(policy($0)?.exponentialBackoffBase ?? 0)"
        },
        SettingCase("retry.maximumBackoff", .int(9), with: retrying, "9.0 seconds") {
            text(policy($0)?.maximumBackoff)
        },
        SettingCase("retry.maximumRetryAfter", .int(8), with: retrying, "8.0 seconds") {
            text(policy($0)?.maximumRetryAfter)
        },
        SettingCase("retry.methods", .strings(["GET", "POST"]), with: retrying, "GET POST") {
            policy($0)?.retryableHTTPMethods.map(\.rawValue).sorted().joined(separator: " ") ?? "none"
        },
        SettingCase("retry.statusCodes", .ints([502, 418]), with: retrying, "[418, 502]") {
            "\(policy($0)?.retryableHTTPStatusCodes.sorted() ?? [])"
        },
        SettingCase("retry.addsIdempotencyKey", .bool(true), with: retrying, "true") {
            "\(policy($0)?.addsIdempotencyKey ?? false)"
        },
        SettingCase("retry.budgetRatio", .double(0.5), with: retrying, "0.5") { "\(policy($0)?.budget?.ratio ?? 0)" },
        SettingCase("retry.budgetMinimum", .int(1), with: retrying, "1") {
            "\(policy($0)?.budget?.minimumRetries ?? -1)"
        },
        SettingCase("retry.budgetWindow", .int(60), with: retrying, "60.0 seconds") {
            text(policy($0)?.budget?.window)
        },
        SettingCase("hedging.delay", .double(0.2), "0.2 seconds") { text($0.steps.hedging?.delay) },
        SettingCase("hedging.maximumExtraAttempts", .int(2), with: ["hedging.delay": .double(0.2)], "2") {
            "\($0.steps.hedging?.maximumExtraAttempts ?? 0)"
        },
    ]

    private static let limited: [String: SettingValue] = ["rateLimit.requestsPerSecond": .double(0.5)]
    private static let breaking: [String: SettingValue] = ["circuitBreaker.enabled": .bool(true)]

    static let limits: [SettingCase] = [
        SettingCase("rateLimit.requestsPerSecond", .double(0.5), "0.5") {
            "\($0.steps.rateLimiters.first?.limit.requestsPerSecond ?? 0)"
        },
        SettingCase("rateLimit.burst", .int(5), with: limited, "5") {
            "\($0.steps.rateLimiters.first?.limit.burst ?? 0)"
        },
        SettingCase("rateLimit.maximumWait", .int(2), with: limited, "2.0 seconds") {
            text($0.steps.rateLimiters.first?.limit.maximumWait)
        },
        SettingCase("circuitBreaker.enabled", .bool(true), "true") { "\($0.steps.circuitBreaker != nil)" },
        SettingCase("circuitBreaker.failureRatio", .double(0.25), with: breaking, "0.25") {
            "\($0.steps.circuitBreaker?.failureRatio ?? 0)"
        },
        SettingCase("circuitBreaker.minimumRequests", .int(3), with: breaking, "3") {
            "\($0.steps.circuitBreaker?.minimumRequests ?? 0)"
        },
        SettingCase("circuitBreaker.window", .int(3), with: breaking, "3.0 seconds") {
            text($0.steps.circuitBreaker?.window)
        },
        SettingCase("circuitBreaker.openDuration", .int(4), with: breaking, "4.0 seconds") {
            text($0.steps.circuitBreaker?.openDuration)
        },
        SettingCase("redirects.followed", .bool(false), "false") {
            "\($0.steps.redirectHandler?.followsRedirects ?? true)"
        },
        SettingCase("redirects.maximum", .int(4), "4") {
            "\(($0.steps.redirects ?? RedirectPolicy()).maximumRedirects)"
        },
        SettingCase("redirects.allowsDowngrade", .bool(true), "true") {
            "\($0.steps.redirects?.allowsDowngrade ?? false)"
        },
    ]

    private static let caching: [String: SettingValue] = ["cache.enabled": .bool(true)]
    private static let onDisk: [String: SettingValue] = ["cache.directory": .string("/var/cache/service")]

    static let stores: [SettingCase] = [
        SettingCase("cache.enabled", .bool(true), "true") { "\($0.httpCache?.storage is MemoryCacheStorage)" },
        SettingCase("cache.directory", .string("/var/cache/service"), "/var/cache/service") {
            disk($0)?.directory ?? "none"
        },
        SettingCase("cache.maximumSize", .int(1_000), with: onDisk, "1000") { "\(disk($0)?.maximumSize ?? 0)" },
        SettingCase("cache.maximumCount", .int(10), with: caching, "10") {
            "\(($0.httpCache?.storage as? MemoryCacheStorage)?.maximumCount ?? 0)"
        },
        SettingCase("cache.sharing", .string("shared"), with: caching, "shared") {
            "\($0.httpCache?.policy.sharing ?? .private)"
        },
        SettingCase("cookies.enabled", .bool(true), "true") { "\($0.steps.cookies is CookieJar)" },
        SettingCase("cookies.file", .string("cookies.txt"), "cookies.txt") {
            ($0.steps.cookies as? CookieFile)?.path ?? "none"
        },
        SettingCase("hsts.enabled", .bool(true), "true") { "\($0.hsts != nil)" },
        SettingCase("hsts.file", .string("hsts.txt"), "hsts.txt") { $0.hsts?.path ?? "none" },
        SettingCase("alternativeServices.enabled", .bool(true), "true") { "\($0.alternativeServices != nil)" },
        SettingCase("alternativeServices.file", .string("alt.txt"), "alt.txt") {
            $0.alternativeServices?.path ?? "none"
        },
        SettingCase("log.level", .string("verbose"), "true") {
            "\($0.eventMonitors.contains { $0 is RequestLog && "\($0)".contains("Level.verbose") })"
        },
        SettingCase("eventBufferSize", .int(10), "10") { "\($0.eventBufferSize)" },
    ]

    private static func policy(_ configuration: SessionConfiguration) -> RetryPolicy? {
        (configuration.steps.retriers.first as? AttachedInterceptor)?.interceptor as? RetryPolicy
    }

    private static func disk(_ configuration: SessionConfiguration) -> DiskCacheStorage? {
        configuration.httpCache?.storage as? DiskCacheStorage
    }
}

extension SessionConfiguration {
    /// The framework's cache, if the configuration has one.
    var httpCache: HTTPCache? { cache as? HTTPCache }
}
#endif
