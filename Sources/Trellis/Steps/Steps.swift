/// What surrounds the attempts of a call: a session's steps, and those of a single request, which come behind them.
///
/// ```swift
/// var configuration = SessionConfiguration()
/// configuration.steps.intercept(with: APIKey())
/// configuration.steps.attempts.append(Timing())
/// let session = Session(configuration: configuration)
///
/// try await session.data(Request(url).withInterceptor(Signature()))
/// ```
///
/// The order in which they run is that of <doc:LifeOfARequest>.
public struct Steps: Sendable {
    /// Stand around each call, the first outermost.
    public var calls: [any RequestStep] = []
    /// Change the request before each attempt, in this order.
    public var adapters: [any RequestAdapter] = []
    /// Are asked about each failed attempt, in this order, until one has an opinion.
    public var retriers: [any RequestRetrier] = []
    /// Which redirects are followed, and what goes along; `nil`: the session's, and for a session `RedirectPolicy()`.
    public var redirects: RedirectPolicy?
    /// Is asked about each redirect that would be followed; `nil`: the session's, and for a session ``Redirector/follow``.
    public var redirectHandler: (any RedirectHandler)?
    /// Where cookies come from and go to; `nil`: to the session's, and for a session that none are kept.
    public var cookies: (any CookieStorage)?
    /// Stand around each request on the wire, the first outermost.
    public var attempts: [any RequestStep] = []

    /// No steps.
    public init() {}

    /// Adds an adapter and retrier in one.
    public mutating func intercept(with interceptor: any RequestInterceptor) {
        adapters.append(interceptor)
        retriers.append(interceptor)
    }

    /// There is nothing to do but for an answer that is a redirect.
    var isEmpty: Bool {
        calls.isEmpty && adapters.isEmpty && retriers.isEmpty && cookies == nil && attempts.isEmpty
    }

    /// These steps, and then others.
    func followed(by other: Steps?) -> Steps {
        guard let other else { return self }
        var steps = self
        steps.calls += other.calls
        steps.adapters += other.adapters
        steps.retriers += other.retriers
        steps.attempts += other.attempts
        steps.redirects = other.redirects ?? redirects
        steps.redirectHandler = other.redirectHandler ?? redirectHandler
        steps.cookies = other.cookies ?? cookies
        return steps
    }
}
