import CurlEngine

/// What came before an attempt in its call.
final class AttemptHistory: Sendable {
    /// How often the request was on its way before: retries and hedges, not redirects.
    let earlierAttempts: Int
    /// The redirects that led to this request.
    let redirects: [Redirect]
    /// One of them has led to another origin.
    let hasLeftOrigin: Bool
    /// When this one was made.
    let start: EngineInstant
    /// Who is told of it.
    let observer: CallObserver?

    init(
        earlierAttempts: Int, redirects: [Redirect], hasLeftOrigin: Bool, start: EngineInstant, observer: CallObserver?
    ) {
        self.earlierAttempts = earlierAttempts
        self.redirects = redirects
        self.hasLeftOrigin = hasLeftOrigin
        self.start = start
        self.observer = observer
    }
}
