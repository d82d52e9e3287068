import CurlEngine

/// The part of a call before an exchange: its earlier attempts and redirects, with the call's observer and limits.
final class AttemptHistory: Sendable {
    /// The number of attempts that were made before: retries and hedges, not redirects.
    let earlierAttempts: Int
    /// The redirects that led to this request.
    let redirects: [Redirect]
    /// A Boolean value: one of the redirects has led to another origin.
    let hasLeftOrigin: Bool
    /// The limit in total of the call, in nanoseconds; `nil`: the call has none.
    let limit: UInt64?
    /// The instant at which the exchange began to wait for its limits and its slot.
    let start: EngineInstant
    /// The call's observer, which receives the events of the exchange; `nil`: there is none.
    let observer: CallObserver?
    /// The count of the call's attempts; `nil`: attempts go out one after the other.
    let starts: StartCount?
    /// The permission of the host's limits; `nil`: the host has none.
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

    /// Notes that the request goes out.
    func begin() {
        permission?.isUsed()
        starts?.add(attempt)
    }

    func tell(_ kind: RequestEvent.Kind) { observer?.tell(kind, attempt: attempt) }
}

/// The permission of a limit for a request, which is told when the request uses it.
protocol StartPermission: AnyObject, Sendable {
    /// Notes that the request goes out.
    func isUsed()
}

/// The count of a call's attempts that were started, for calls whose attempts run concurrently.
final class StartCount: Sendable {
    private let attempts = Locked<Set<Int>>([])

    /// The number of attempts that were started.
    var value: Int { attempts.withLock { $0.count } }

    /// Counts an attempt, once for all of its hops.
    func add(_ attempt: Int) { attempts.withLock { _ = $0.insert(attempt) } }
}
