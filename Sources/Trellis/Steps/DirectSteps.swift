/// The steps of a call that waits for its exchange alone, once its adapters have returned.
final class DirectSteps: Sendable {
    /// An adapter of the framework's or of the user's.
    enum Adapting: Sendable {
        case immediate(any ImmediateAdapter)
        /// An adapter that may wait, and then needs a task that the deadline can cancel.
        case waiting(any RequestAdapter)
    }

    let adapters: [Adapting]
    /// Indicates whether one of the adapters may wait.
    let mayWait: Bool
    let cookies: (any ImmediateCookieStorage)?
    /// Indicates whether there are ``cookies``. A flag is read without the copy that a call of an optional storage makes first.
    let hasCookies: Bool
    /// Indicates whether the exchanges are observed, as a flag for the same reason.
    let isObserved: Bool
    let caching: ImmediateCache?
    /// Indicates whether code of the user's is among the steps.
    let hasUserCode: Bool

    /// Creates the direct steps; `nil` if a step other than an adapter may wait. Retriers and redirect handlers may wait: the call gets a
    /// task when they are asked.
    init?(_ steps: Steps) {
        guard steps.application.isEmpty, steps.network.isEmpty, steps.hedging == nil, steps.rateLimiters.isEmpty,
            steps.signers.isEmpty
        else { return nil }
        caching = ImmediateCache(steps)
        guard steps.cache == nil || caching?.stores != nil else { return nil }
        adapters = steps.adapters.map { adapter in
            let adapter = (adapter as? AttachedInterceptor)?.interceptor ?? adapter
            guard let immediate = adapter as? any ImmediateAdapter, immediate.isImmediate else {
                return .waiting(adapter)
            }
            return .immediate(immediate)
        }
        mayWait = adapters.contains { if case .waiting = $0 { true } else { false } }
        cookies = steps.cookies as? any ImmediateCookieStorage
        hasCookies = cookies != nil
        isObserved = steps.exchangeObserver != nil
        guard steps.cookies == nil || hasCookies else { return nil }
        hasUserCode = mayWait || steps.exchangeObserver != nil || steps.adapters.contains { $0 is Adapter }
    }
}

/// An adapter that does not wait.
protocol ImmediateAdapter: RequestAdapter {
    /// Indicates whether this adapter does not wait.
    var isImmediate: Bool { get }
    /// Returns the same request as ``RequestAdapter/adapt(_:context:)``.
    func adaptAtOnce(_ request: Request, context: CallContext) throws -> Request
}

extension ImmediateAdapter {
    /// The default, `true`.
    var isImmediate: Bool { true }
}

/// A storage of cookies that does not wait.
protocol ImmediateCookieStorage: CookieStorage {
    /// Returns a request with the cookies of its URL after its own.
    func addingCookies(to request: Request) -> Request
    /// Stores the cookies that the response to a request sets.
    func keepCookies(of response: Response, to request: Request)
}
