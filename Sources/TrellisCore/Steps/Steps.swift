/// The steps around the attempts of a call: a session's steps, or the steps of a single request, which follow the session's.
///
/// ```swift
/// var configuration = SessionConfiguration()
/// configuration.retry = RetryPolicy()
/// configuration.steps.adapters.append(VaultToken())
/// configuration.steps.network.append(Timing())
/// let session = Session(configuration: configuration)
///
/// try await session.data(Request(url).withInterceptor(Signature()))
/// ```
///
/// <doc:CallStages> lists the order in which the steps run.
public struct Steps: Sendable {
    /// The application steps, which surround each call; the first is the outermost. None by default.
    public var application: [any RequestStep] = []
    /// The policy that sends another attempt while the response to the first is slow to arrive; if `nil`, the session's, and
    /// for a session none.
    public var hedging: HedgingPolicy?
    /// The adapters that change the request before each attempt, in this order. None by default.
    ///
    /// A ``RequestInterceptor`` that is added only here is installed in both lists: it is also asked about failed attempts, after
    /// the ``retriers``.
    public var adapters: [any RequestAdapter] = []
    /// The retriers that are asked about each failed attempt, in this order, until one returns a result other than
    /// ``RetryResult/doNotRetry``. None by default.
    ///
    /// A ``RequestInterceptor`` that is added only here, such as a ``RetryPolicy``, is installed in both lists: it also adapts
    /// requests, after the ``adapters``.
    public var retriers: [any RequestRetrier] = []
    /// The policy that decides which redirects are followed, and which fields are sent along; if `nil`, the session's, and for a
    /// session `RedirectPolicy()`.
    public var redirects: RedirectPolicy?
    /// The handler that is asked about each redirect that would be followed; if `nil`, the session's, and for a session
    /// ``RedirectHandler/follow``.
    public var redirectHandler: (any RedirectHandler)?
    /// The network steps, which surround each hop, retries and redirects included; the first is the outermost. None by default.
    public var network: [any RequestStep] = []
    /// The storage that cookies are read from and saved to, inside of the steps of ``network``; if `nil`, the session's, and
    /// for a session none, so that no cookies are kept.
    public var cookies: (any CookieStorage)?
    /// The cache of responses, inside of the cookies and outside of the limits: what it has needs no request. If `nil`, the session's,
    /// and for a session none.
    public var cache: (any ResponseCaching)?
    /// The handler that is asked about each response that the cache could store. Its protocol belongs to the cache.
    package var storingHandler: (any Sendable)?
    /// The circuit breaker that refuses requests to hosts that fail; if `nil`, the session's, and for a session none.
    public var circuitBreaker: CircuitBreaker?
    /// The rate limiters that delay each request on the wire until its turn, inside of all other steps. None by
    /// default.
    public var rateLimiters: [RateLimiter] = []
    /// The limit on the requests that a host has at a time, which follows what the host can answer; if `nil`, the session's, and for a
    /// session none.
    public var adaptiveConcurrency: AdaptiveConcurrency?
    /// The signers of each request on the wire, innermost of all: see ``RequestSigner``. There are none by default.
    ///
    /// A cache does not see what they add, so the signers of a session with a cache must sign for one identity. A request with signers of
    /// its own does not use the session's cache.
    public var signers: [any RequestSigner] = []
    /// The observer of each exchange, inside of the limits; if `nil`, the session's, and for a session none.
    package var exchangeObserver: (any ExchangeObserver)?

    /// Creates steps that do nothing.
    public init() {}

    /// Adds a new limiter for a rate: `configuration.steps.limit(rate: RateLimit(requestsPerSecond: 10, burst: 5))`.
    public mutating func limit(rate: RateLimit) { rateLimiters.append(RateLimiter(rate)) }

    /// Adds an adapter and retrier in one.
    public mutating func intercept(with interceptor: any RequestInterceptor) {
        let interceptor = AttachedInterceptor(interceptor)
        adapters.append(interceptor)
        retriers.append(interceptor)
    }

    /// Whether the steps do nothing, except for a response that is a redirect.
    var isEmpty: Bool {
        application.isEmpty && adapters.isEmpty && retriers.isEmpty && cookies == nil && network.isEmpty
            && hedging == nil && cache == nil && signers.isEmpty && exchangeObserver == nil
            && !hasLimits
    }

    /// The steps for requests that a step itself sends while calls wait for them: without the steps in which the calls wait, or
    /// in which the requests could wait for the calls.
    var ofRequestsInFlight: Steps {
        var steps = self
        (steps.application, steps.adapters, steps.retriers, steps.hedging, steps.cache) = ([], [], [], nil, nil)
        steps.signers = []
        return steps
    }

    /// Returns these steps followed by others.
    func followed(by other: Steps?) -> Steps {
        guard let other else { return self }
        var steps = self
        steps.application += other.application
        steps.adapters += other.adapters
        steps.retriers += other.retriers
        steps.network += other.network
        steps.rateLimiters += other.rateLimiters
        steps.circuitBreaker = other.circuitBreaker ?? circuitBreaker
        steps.adaptiveConcurrency = other.adaptiveConcurrency ?? adaptiveConcurrency
        steps.hedging = other.hedging ?? hedging
        steps.redirects = other.redirects ?? redirects
        steps.redirectHandler = other.redirectHandler ?? redirectHandler
        steps.cookies = other.cookies ?? cookies
        steps.cache = other.cache ?? (other.signers.isEmpty ? cache : nil)
        steps.signers += other.signers
        steps.storingHandler = other.storingHandler ?? storingHandler
        steps.exchangeObserver = other.exchangeObserver ?? exchangeObserver
        return steps
    }
}
