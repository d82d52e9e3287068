import CurlEngine
import HTTPTypes

/// The history of a call before an exchange: its earlier attempts and redirects, with the call's observer and limits.
package final class AttemptHistory: Sendable {
    /// The number of attempts that were made before this one: retries and hedged attempts, not redirects.
    let earlierAttempts: Int
    /// The redirects that led to this request.
    let redirects: [Redirect]
    /// Whether one of the redirects led to another origin.
    let hasLeftOrigin: Bool
    /// The time limit of the complete call, in nanoseconds; `nil` if the call has none.
    let limit: UInt64?
    /// When the exchange began to wait for its limits and its slot.
    let start: EngineInstant
    /// The call's observer, which receives the events of the exchange; `nil` if there is none.
    let observer: CallObserver?
    /// Whether the call follows or refuses each redirect that has a target: neither a handler nor a step may decide otherwise.
    let followsEachRedirect: Bool
    /// Whether the body of a response may be cut off if the call may continue after it: no step may pass it off as whole.
    private let mayCutBodies: Bool
    /// The counter of the call's attempts; `nil` if no two attempts run concurrently.
    let starts: StartCount?
    /// Whether the call may send its request again after a failure or a failing status.
    private let mayBeRepeated: Bool
    /// The call, if it has no actor; the session's list has it until its end.
    let listedCall: (any ListedCall)?
    /// Tells the limits of the host that the request is sent; `nil` if the host has no limits.
    private let onStart: (@Sendable (EngineInstant) -> Void)?

    init(
        earlierAttempts: Int, redirects: [Redirect], hasLeftOrigin: Bool, limit: UInt64?, start: EngineInstant,
        observer: CallObserver?, hasRedirectHandler: Bool, mayCutBodies: Bool = true, starts: StartCount? = nil,
        onStart: (@Sendable (EngineInstant) -> Void)? = nil, mayBeRepeated: Bool = true,
        listedCall: (any ListedCall)? = nil
    ) {
        self.earlierAttempts = earlierAttempts
        self.redirects = redirects
        self.hasLeftOrigin = hasLeftOrigin
        self.limit = limit
        self.start = start
        self.observer = observer
        self.mayCutBodies = mayCutBodies
        followsEachRedirect = mayCutBodies && !hasRedirectHandler
        self.starts = starts
        self.onStart = onStart
        self.mayBeRepeated = mayBeRepeated
        self.listedCall = listedCall
    }

    /// The number of the attempt, from 1.
    var attempt: Int { earlierAttempts + 1 }

    /// Records that the request is sent.
    func begin(at now: EngineInstant) {
        onStart?(now)
        starts?.add(attempt)
    }

    /// Returns whether the call may continue after a response, with a redirect, with other credentials or with its retriers, so that the
    /// limit on its body applies only if it turns out to be final.
    func mayContinue(after head: ResponseHead) -> Bool {
        mayCutBodies && (!head.redirectTargets.isEmpty || head.status.code >= 400 && mayBeRepeated)
    }

    /// Returns whether the failure of an exchange ends its call, whatever retriers would decide: the call was cancelled, or its deadline
    /// has passed.
    func endsCall(_ failure: any Error, of prepared: PreparedRequest) -> Bool {
        if failure is CancellationError { return true }
        guard let failure = failure as? TrellisError else { return false }
        return failure.isCancellation || failure.reason == .timedOut(.total) && prepared.limits.total == limit
    }

    func tell(_ kind: consuming RequestEvent.Kind) { observer?.tell(kind, attempt: attempt) }
}

/// A call without an actor, as its exchanges see it.
protocol ListedCall: AnyObject, Sendable {
    /// The error with which the call was cancelled while it had no exchange, if it was.
    var cancellation: (any Error)? { get }
}

/// The counter of a call's started attempts, for calls whose attempts run concurrently.
final class StartCount: Sendable {
    private let attempts = Locked<Set<Int>>([])

    /// The number of attempts that were started.
    var value: Int { attempts.withLock { $0.count } }

    /// Counts an attempt, once for all of its hops.
    func add(_ attempt: Int) { attempts.withLock { _ = $0.insert(attempt) } }
}

/// The properties of ``RequestEvent/Kind/queued(_:)``: the parts of the request, which are joined for a reader.
private final class QueuedStorage: EventStorage {
    let origin: EventOrigin
    private let source: Request
    private let defaultFields: HTTPFields?

    init(_ origin: EventOrigin, _ request: TransportRequest) {
        self.origin = origin
        (source, defaultFields) = (request.source, request.defaultFields)
    }

    var kind: RequestEvent.Kind { .queued(TransportRequest.joined(source, with: defaultFields)) }
    var detail: EventDetail { .exchanges }
}

extension CallObserver {
    /// Sends `queued` with a request that waits for its slot.
    func tellQueued(_ request: TransportRequest, attempt: Int) {
        guard let origin = makeOrigin(in: .exchanges, attempt: attempt) else { return }
        send(RequestEvent(QueuedStorage(origin, request)), in: .exchanges)
    }
}
