import CurlEngine

/// The history of a call before an exchange: its earlier attempts and redirects, with the call's observer and limits.
final class AttemptHistory: Sendable {
    /// The number of attempts that were made before this one: retries and hedged attempts, not redirects.
    let earlierAttempts: Int
    /// The redirects that led to this request.
    let redirects: [Redirect]
    /// Indicates whether one of the redirects led to another origin.
    let hasLeftOrigin: Bool
    /// The time limit of the complete call, in nanoseconds; `nil` if the call has none.
    let limit: UInt64?
    /// The instant at which the exchange began to wait for its limits and its slot.
    let start: EngineInstant
    /// The call's observer, which receives the events of the exchange; `nil` if there is none.
    let observer: CallObserver?
    /// The counter of the call's attempts; `nil` if no two attempts run concurrently.
    let starts: StartCount?
    /// The permit of the host's limits; `nil` if the host has no limits.
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

    /// The number of the attempt, from 1.
    var attempt: Int { earlierAttempts + 1 }

    /// Records that the request is sent.
    func begin() {
        permission?.isUsed()
        starts?.add(attempt)
    }

    func tell(_ kind: RequestEvent.Kind) { observer?.tell(kind, attempt: attempt) }
}

/// The permit of a limit to send a request. The limit is notified when the request is sent.
protocol StartPermission: AnyObject, Sendable {
    /// Records that the request is sent.
    func isUsed()
}

/// The counter of a call's started attempts, for calls whose attempts run concurrently.
final class StartCount: Sendable {
    private let attempts = Locked<Set<Int>>([])

    /// The number of attempts that were started.
    var value: Int { attempts.withLock { $0.count } }

    /// Counts an attempt, once for all of its hops.
    func add(_ attempt: Int) { attempts.withLock { _ = $0.insert(attempt) } }
}
