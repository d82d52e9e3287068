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
    // The parts of a ``DirectContinuation``, because a read of one part of an optional value copies the others.
    private let isDirect: Bool
    private let hasRetriers: Bool
    private let conditions: ReadingConditions?
    /// The direct call whose adapters may have changed the request; `nil` if there is no such call.
    let adaptedCall: (any ListedCall)?
    /// Tells the limits of the host that the request is sent; `nil` if the host has no limits.
    private let onStart: (@Sendable () -> Void)?

    init(
        earlierAttempts: Int, redirects: [Redirect], hasLeftOrigin: Bool, limit: UInt64?, start: EngineInstant,
        observer: CallObserver?, hasRedirectHandler: Bool, mayCutBodies: Bool = true, starts: StartCount? = nil,
        onStart: (@Sendable () -> Void)? = nil, continuation: DirectContinuation? = nil
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
        isDirect = continuation != nil
        hasRetriers = continuation?.hasRetriers ?? false
        conditions = continuation?.conditions
        adaptedCall = continuation?.adaptedCall
    }

    /// The number of the attempt, from 1.
    var attempt: Int { earlierAttempts + 1 }

    /// Records that the request is sent.
    func begin() {
        onStart?()
        starts?.add(attempt)
    }

    /// Returns whether a direct call continues after the exchange, with a redirect or with its retriers. The engine and the call must
    /// come to the same result, because a session that drains waits for a call that continues.
    func isContinued(after failure: (any Error)?, head: ResponseHead?, of prepared: PreparedRequest) -> Bool {
        guard isDirect else { return false }
        if let failure { return hasRetriers && !endsCall(failure, of: prepared) }
        guard let head else { return false }
        if head.status.isRedirect { return true }
        guard hasRetriers else { return false }
        if head.status.code >= 400 { return true }
        return conditions.map { !$0.accept(head, of: prepared.request) } ?? false
    }

    /// Returns whether the retriers of a direct call may be asked about a response whose exchange has not failed: the cache decodes the
    /// body after the exchange, and the body may be damaged.
    func mayFailLater(after head: ResponseHead?, of prepared: PreparedRequest) -> Bool {
        isDirect && hasRetriers && !prepared.wire.decodesContent && head?.headers.contains(.contentEncoding) == true
    }

    /// Returns whether the call may continue after a response, with a redirect, with other credentials or with its retriers, so that the
    /// limit on its body applies only if it turns out to be final.
    func mayContinue(after head: ResponseHead) -> Bool {
        mayCutBodies && (!head.redirectTargets.isEmpty || head.status.code >= 400 && (!isDirect || hasRetriers))
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

/// Why a call continues after its first exchange, if it has no task of its own until then.
struct DirectContinuation: Sendable {
    let hasRetriers: Bool
    /// The conditions of the call's reader; `nil` if the reader accepts any response.
    let conditions: ReadingConditions?
    /// The call, if it has adapters; `nil` if the exchange has the request of the call.
    let adaptedCall: (any ListedCall)?
}

/// A call as the list of a session's requests shows it.
protocol ListedCall: AnyObject, Sendable {
    /// The method that the call was made with.
    var method: HTTPRequest.Method { get }
    /// The URL that the call was made with, completed by the session.
    var completeURL: String { get }
    /// The error of the cancellation, if the call was cancelled while it had neither an actor nor an exchange.
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
