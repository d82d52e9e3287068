/// The steps of a call that waits for its exchange alone, once its adapters have returned.
final class DirectSteps: Sendable {
    /// Whether there are adapters.
    let hasAdapters: Bool
    /// Whether one of the adapters may wait.
    let mayWait: Bool
    let cookies: CookieJar?
    /// Whether there are ``cookies``. A flag is read without the copy that a call of an optional storage makes first.
    let hasCookies: Bool
    /// Whether the exchanges are observed, as a flag for the same reason.
    let isObserved: Bool
    let caching: ImmediateCache?
    /// Whether code of the user's is among the steps.
    let hasUserCode: Bool

    /// Creates the direct steps; `nil` if a step other than an adapter may wait. Retriers and redirect handlers may wait: the call gets a
    /// task when they are asked.
    init?(_ steps: Steps, _ adapters: [Adapting]) {
        guard steps.application.isEmpty, steps.network.isEmpty, steps.hedging == nil, steps.rateLimiters.isEmpty,
            steps.signers.isEmpty
        else { return nil }
        caching = ImmediateCache(steps)
        guard steps.cache == nil || caching?.stores != nil else { return nil }
        hasAdapters = !adapters.isEmpty
        mayWait = adapters.contains(where: \.mayWait)
        cookies = steps.cookies as? CookieJar
        hasCookies = cookies != nil
        isObserved = steps.exchangeObserver != nil
        guard steps.cookies == nil || hasCookies else { return nil }
        hasUserCode = mayWait || steps.exchangeObserver != nil || steps.adapters.contains { $0 is Adapter }
    }
}
