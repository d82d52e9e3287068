/// The steps of a call that answer without waiting, which its stages ask first.
final class ImmediateSteps: Sendable {
    /// The storage of cookies, if it does not wait.
    let cookies: CookieJar?
    /// Whether a step may wait before the first response, so that the call needs a task that its deadline can cancel. Retriers and redirect
    /// handlers may wait, too: the call gets its task when they are asked.
    let mayWait: Bool
    /// Whether code of the user's is among the steps that are asked in the caller's task.
    let hasUserCode: Bool

    init(_ steps: Steps, _ adapters: [Adapting], cache: (any StagedCache)?) {
        cookies = steps.cookies as? CookieJar
        mayWait =
            !steps.application.isEmpty || !steps.network.isEmpty || steps.hedging != nil || !steps.rateLimiters.isEmpty
            || !steps.signers.isEmpty || adapters.contains(where: \.mayWait)
            || steps.cookies != nil && cookies == nil || steps.cache != nil && cache?.mayWait(in: steps) ?? true
        hasUserCode = steps.exchangeObserver != nil || steps.adapters.contains { $0 is Adapter }
    }
}
