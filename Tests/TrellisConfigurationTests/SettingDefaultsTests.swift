#if Configuration
import Configuration
import Testing
import TrellisCaching
import TrellisCore
import TrellisConfiguration
import TrellisUpgrades

/// Settings change the steps of the defaults, and leave the values that they do not name.
struct SettingDefaultsTests {
    private static func configuration(
        _ settings: [String: SettingValue], _ change: (inout SessionConfiguration) -> Void
    ) async throws -> SessionConfiguration {
        var defaults = SessionConfiguration()
        change(&defaults)
        return try await SessionConfiguration(reading: SettingCase.reader(settings), defaults: defaults)
    }

    // MARK: Retries

    private static let tuned = RetryPolicy(
        retryLimit: 3, maximumBackoff: .seconds(7), budget: RetryBudget(ratio: 0.2, minimumRetries: 5))

    /// A policy that was added to both lists, or to one of them.
    @Test(arguments: [true, false])
    func aRetryPolicyIsChangedInItsPlace(_ isInBothLists: Bool) async throws {
        let settings: [String: SettingValue] = ["retry.limit": .int(5)]
        let configuration = try await Self.configuration(settings) { defaults in
            if isInBothLists {
                defaults.steps.intercept(with: Self.tuned)
            } else {
                defaults.steps.retriers.append(Self.tuned)
            }
            defaults.steps.retriers.append(Retrier { _, _ in .doNotRetry })
        }
        let policy = try #require(configuration.retry)
        #expect(policy.retryLimit == 5 && policy.maximumBackoff == .seconds(7))
        #expect(policy.budget === Self.tuned.budget)
        #expect(configuration.steps.retriers.count == 2 && configuration.steps.adapters.count == 1)
        #expect(configuration.steps.retriers.last is Retrier)
    }

    @Test func aLimitOfZeroRemovesAllRetryPolicies() async throws {
        let configuration = try await Self.configuration(["retry.limit": .int(0)]) { defaults in
            defaults.steps.intercept(with: Self.tuned)
            defaults.steps.retriers.append(RetryPolicy())
            defaults.steps.adapters.append(Adapter { request, _ in request })
        }
        #expect(configuration.steps.retriers.isEmpty)
        #expect(configuration.steps.adapters.count == 1 && configuration.steps.adapters.first is Adapter)
    }

    /// With a policy in the defaults, its other settings need no limit.
    @Test func aBudgetIsChangedForRetriesAndHedges() async throws {
        let configuration = try await Self.configuration(["retry.budgetRatio": .double(0.5)]) { defaults in
            defaults.steps.intercept(with: Self.tuned)
            defaults.steps.hedging = HedgingPolicy(after: .seconds(1), budget: Self.tuned.budget)
        }
        let policy = try #require(configuration.retry)
        #expect(policy.retryLimit == 3 && policy.budget?.ratio == 0.5 && policy.budget?.minimumRetries == 5)
        #expect(configuration.steps.hedging?.budget === policy.budget)
    }

    @Test func aHedgingPolicyKeepsItsOtherValues() async throws {
        let settings: [String: SettingValue] = ["hedging.delay": .int(2)]
        let configuration = try await Self.configuration(settings) { defaults in
            defaults.steps.hedging = HedgingPolicy(after: .seconds(1), maximumExtraAttempts: 3, budget: nil)
        }
        let hedging = try #require(configuration.steps.hedging)
        #expect(hedging.delay == .seconds(2) && hedging.maximumExtraAttempts == 3 && hedging.budget == nil)
        let attempts = try await Self.configuration(["hedging.maximumExtraAttempts": .int(2)]) { defaults in
            defaults.steps.hedging = HedgingPolicy(after: .seconds(1))
        }
        #expect(attempts.steps.hedging?.delay == .seconds(1) && attempts.steps.hedging?.maximumExtraAttempts == 2)
    }

    // MARK: Limits

    @Test func aRateTakesThePlaceOfOthers() async throws {
        let limiters = [
            RateLimiter(RateLimit(requestsPerSecond: 1, burst: 4)), RateLimiter(RateLimit(requestsPerSecond: 2)),
        ]
        let settings: [String: SettingValue] = ["rateLimit.requestsPerSecond": .int(9)]
        let configuration = try await Self.configuration(settings) { $0.steps.rateLimiters = limiters }
        #expect(configuration.steps.rateLimiters.map(\.limit) == [RateLimit(requestsPerSecond: 9, burst: 4)])
        let same = try await Self.configuration(["rateLimit.burst": .int(4)]) { defaults in
            defaults.steps.rateLimiters = [limiters[0]]
        }
        #expect(same.steps.rateLimiters.first === limiters[0])
    }

    @Test func aBreakerThatIsEnabledStays() async throws {
        let breaker = CircuitBreaker(failureRatio: 0.3, minimumRequests: 7, window: .seconds(3))
        let enabled: [String: SettingValue] = [
            "circuitBreaker.enabled": .bool(true), "circuitBreaker.minimumRequests": .int(7),
        ]
        let same = try await Self.configuration(enabled) { $0.steps.circuitBreaker = breaker }
        #expect(same.steps.circuitBreaker === breaker)
        let changed = try await Self.configuration(["circuitBreaker.window": .int(4)]) { defaults in
            defaults.steps.circuitBreaker = breaker
        }
        let other = try #require(changed.steps.circuitBreaker)
        #expect(other.failureRatio == 0.3 && other.minimumRequests == 7 && other.window == .seconds(4))
    }

    @Test func aBandwidthKeepsItsBurst() async throws {
        let settings: [String: SettingValue] = ["bandwidth.upload": .int(1_000), "bandwidth.downloadBurst": .int(3)]
        let configuration = try await Self.configuration(settings) { defaults in
            defaults.bandwidth.upload = BandwidthLimit(bytesPerSecond: 100, burst: 70)
            defaults.bandwidth.download = BandwidthLimit(bytesPerSecond: 500)
        }
        #expect(configuration.bandwidth.upload == BandwidthLimit(bytesPerSecond: 1_000, burst: 70))
        #expect(configuration.bandwidth.download == BandwidthLimit(bytesPerSecond: 500, burst: 3))
        let usual = try await Self.configuration(["bandwidth.upload": .int(1_000)]) { defaults in
            defaults.bandwidth.upload = BandwidthLimit(bytesPerSecond: 100)
        }
        #expect(usual.bandwidth.upload == BandwidthLimit(bytesPerSecond: 1_000))
    }

    // MARK: Redirects

    /// A handler of a program, which refuses redirects.
    private struct Careful: RedirectHandler {
        func redirect(to request: Request, for response: Response, context: CallContext) async throws -> Request? {
            nil
        }
    }

    @Test(arguments: [true, false])
    func aRedirectHandlerStaysIfRedirectsAreFollowed(_ follows: Bool) async throws {
        let settings: [String: SettingValue] = ["redirects.followed": .bool(follows)]
        let configuration = try await Self.configuration(settings) { $0.steps.redirectHandler = Careful() }
        let handler = try #require(configuration.steps.redirectHandler)
        #expect((handler is Careful) == follows && handler.followsRedirects == follows)
        let other = try await Self.configuration(settings) { $0.steps.redirectHandler = .doNotFollow }
        #expect(other.steps.redirectHandler?.followsRedirects == follows)
    }

    // MARK: Stores

    @Test func storesThatAreEnabledStay() async throws {
        let (cache, cookies, hsts) = (HTTPCache(policy: CachePolicy(heuristicShare: 0)), CookieJar(), HSTSStore())
        let services = AlternativeServiceStore()
        let settings: [String: SettingValue] = [
            "cache.enabled": .bool(true), "cookies.enabled": .bool(true), "hsts.enabled": .bool(true),
            "alternativeServices.enabled": .bool(true),
        ]
        let configuration = try await Self.configuration(settings) { defaults in
            defaults.steps.cache = cache
            defaults.steps.cookies = cookies
            defaults.hsts = hsts
            defaults.alternativeServices = services
        }
        let jar = configuration.steps.cookies as? CookieJar
        #expect(configuration.httpCache === cache && jar === cookies)
        #expect(configuration.hsts === hsts && configuration.alternativeServices === services)
    }

    @Test func aCacheKeepsTheValuesThatAreNotGiven() async throws {
        let storage = MemoryCacheStorage(maximumSize: 1_000, maximumCount: 5, maximumBodySize: 900)
        let cache = HTTPCache(storage: storage, policy: CachePolicy(heuristicShare: 0))
        let shared = try await Self.configuration(["cache.sharing": .string("shared")]) { $0.steps.cache = cache }
        #expect(shared.httpCache?.policy == CachePolicy(sharing: .shared, heuristicShare: 0))
        let kept = shared.httpCache?.storage as? MemoryCacheStorage
        #expect(kept === storage)
        let larger = try await Self.configuration(["cache.maximumSize": .int(2_000)]) { $0.steps.cache = cache }
        let memory = try #require(larger.httpCache?.storage as? MemoryCacheStorage)
        #expect(memory.maximumSize == 2_000 && memory.maximumCount == 5 && memory.maximumBodySize == 900)
        #expect(larger.httpCache?.policy == cache.policy)
        let disk = HTTPCache(storage: DiskCacheStorage(directory: "/var/cache/service", maximumSize: 1_000))
        let fewer = try await Self.configuration(["cache.maximumCount": .int(3)]) { $0.steps.cache = disk }
        let folder = try #require(fewer.httpCache?.storage as? DiskCacheStorage)
        #expect(folder.directory == "/var/cache/service" && folder.maximumSize == 1_000 && folder.maximumCount == 3)
    }

    // MARK: Logs

    /// A monitor that is no log.
    private struct Silent: EventMonitor {
        func handle(_ event: RequestEvent) async {}
    }

    @Test func aLevelIsThatOfTheLogsOfTheDefaults() async throws {
        func monitors(_ level: String) async throws -> [any EventMonitor] {
            try await Self.configuration(["log.level": .string(level)]) { defaults in
                defaults.eventMonitors = [RequestLog(), Silent()]
            }.eventMonitors
        }
        let verbose = try await monitors("verbose")
        #expect(verbose.count == 2 && verbose[0] is RequestLog && verbose[1] is Silent)
        #expect("\(verbose[0])".contains("Level.verbose"))
        let none = try await monitors("none")
        #expect(none.count == 1 && none[0] is Silent)
    }
}
#endif
