/// What surrounds the attempts of a call: a session's steps, and those of a single request, which come behind them.
///
/// ```swift
/// var configuration = SessionConfiguration()
/// configuration.steps.intercept(with: APIKey())
/// configuration.steps.aroundHop.append(Timing())
/// let session = Session(configuration: configuration)
///
/// try await session.data(Request(url).withInterceptor(Signature()))
/// ```
///
/// The order in which they run is that of <doc:LifeOfARequest>.
public struct Steps: Sendable {
    /// Stand around each call, the first outermost.
    public var aroundCall: [any RequestStep] = []
    /// Sends another attempt beside one whose answer is slow to come; `nil`: as the session's, and for a session none.
    public var hedging: HedgingPolicy?
    /// Change the request before each attempt, in this order.
    ///
    /// A ``RequestInterceptor`` that is added here alone is installed whole: it is asked about failed attempts too, after the
    /// ``retriers``.
    public var adapters: [any RequestAdapter] = []
    /// Are asked about each failed attempt, in this order, until one has an opinion.
    ///
    /// A ``RequestInterceptor`` that is added here alone, such as a ``RetryPolicy``, is installed whole: it adapts requests too,
    /// after the ``adapters``.
    public var retriers: [any RequestRetrier] = []
    /// Which redirects are followed, and what goes along; `nil`: the session's, and for a session `RedirectPolicy()`.
    public var redirects: RedirectPolicy?
    /// Is asked about each redirect that would be followed; `nil`: the session's, and for a session ``Redirector/follow``.
    public var redirectHandler: (any RedirectHandler)?
    /// Stand around each request on the wire, the first outermost.
    public var aroundHop: [any RequestStep] = []
    /// Where cookies come from and go to, inside of the ``attempts``; `nil`: to the session's, and for a session that none are
    /// kept.
    public var cookies: (any CookieStorage)?
    /// Leaves hosts alone that fail; `nil`: the session's, and for a session that none is left alone.
    public var circuitBreaker: CircuitBreaker?
    /// Hold each request on the wire up until its turn, inside of everything else.
    public var rateLimiters: [RateLimiter] = []

    /// No steps.
    public init() {}

    /// Adds a limiter of its own for a rate: `configuration.steps.limit(rate: RateLimit(requestsPerSecond: 10, burst: 5))`.
    public mutating func limit(rate: RateLimit) { rateLimiters.append(RateLimiter(rate)) }

    /// Adds an adapter and retrier in one.
    public mutating func intercept(with interceptor: any RequestInterceptor) {
        let interceptor = InstalledInterceptor(interceptor)
        adapters.append(interceptor)
        retriers.append(interceptor)
    }

    /// There is nothing to do but for an answer that is a redirect.
    var isEmpty: Bool {
        aroundCall.isEmpty && adapters.isEmpty && retriers.isEmpty && cookies == nil && aroundHop.isEmpty
            && hedging == nil
            && !hasLimits
    }

    /// The steps of requests that a step sends itself while calls wait for it: without those in which the calls wait, or in which
    /// the requests could wait for the calls.
    var ofRequestsInFlight: Steps {
        var steps = self
        (steps.aroundCall, steps.adapters, steps.retriers, steps.hedging) = ([], [], [], nil)
        return steps
    }

    /// These steps, and then others.
    func followed(by other: Steps?) -> Steps {
        guard let other else { return self }
        var steps = self
        steps.aroundCall += other.aroundCall
        steps.adapters += other.adapters
        steps.retriers += other.retriers
        steps.aroundHop += other.aroundHop
        steps.rateLimiters += other.rateLimiters
        steps.circuitBreaker = other.circuitBreaker ?? circuitBreaker
        steps.hedging = other.hedging ?? hedging
        steps.redirects = other.redirects ?? redirects
        steps.redirectHandler = other.redirectHandler ?? redirectHandler
        steps.cookies = other.cookies ?? cookies
        return steps
    }
}
