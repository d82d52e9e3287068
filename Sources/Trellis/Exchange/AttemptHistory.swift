import CurlEngine

/// What came before an attempt in its call.
final class AttemptHistory: Sendable {
    /// How often the request was on its way before: retries and hedges, not redirects.
    let earlierAttempts: Int
    /// The redirects that led to this request.
    let redirects: [Redirect]
    /// One of them has led to another origin.
    let hasLeftOrigin: Bool
    /// The total of its call, in nanoseconds; `nil`: it has none.
    let limit: UInt64?
    /// When it began to wait for its limits and its slot.
    let start: EngineInstant
    /// Who is told of it.
    let observer: CallObserver?
    /// Counts the attempts of its call; `nil` where they go out one after the other.
    let starts: StartCount?
    /// What has let it go.
    private let permission: (any StartPermission)?

    init(
        earlierAttempts: Int, redirects: [Redirect], hasLeftOrigin: Bool, limit: UInt64?, start: EngineInstant,
        observer: CallObserver?, starts: StartCount? = nil, permission: (any StartPermission)? = nil
    ) {
        self.earlierAttempts = earlierAttempts
        self.redirects = redirects
        self.hasLeftOrigin = hasLeftOrigin
        self.limit = limit
        self.start = start
        self.observer = observer
        self.starts = starts
        self.permission = permission
    }

    /// The number of its attempt.
    var attempt: Int { earlierAttempts + 1 }

    /// The request goes out.
    func begin() {
        permission?.isUsed()
        starts?.add(attempt)
    }

    func tell(_ kind: RequestEvent.Kind) { observer?.tell(kind, attempt: attempt) }
}

/// What has let a request go, and wants to know whether it went.
protocol StartPermission: AnyObject, Sendable {
    func isUsed()
}
