package import CurlEngine

/// The information about a call that its steps receive.
public struct CallContext: Sendable {
    /// The number of the call in its process; later calls have higher numbers.
    public var callID: UInt64 { call.id }
    /// The number of the attempt, from 1. Redirects belong to the attempt that received them.
    public internal(set) var attempt: Int {
        get { later?.attempt ?? 1 }
        set { change { $0.attempt = newValue } }
    }
    /// The redirects that led to the request of this attempt. A retry continues after the redirects that were already followed.
    public internal(set) var redirects: [Redirect] {
        get { later?.redirects ?? [] }
        set { change { $0.redirects = newValue } }
    }
    /// The time that is left of ``Timeouts/total``; `nil` if there is no such limit. A step that takes longer is cancelled.
    public var remainingTime: Duration? { call.deadline.remaining }
    /// The time since the call was made, on the clock of its session.
    public var elapsed: Duration { call.deadline.elapsed }

    /// The reason why the call has ended while its steps are at work, if it has: of kind ``TrellisError/Kind/totalTimeout`` at the
    /// deadline, of kind ``TrellisError/Kind/cancelled`` after a shutdown of the session or a cancellation of the handle. `nil` if the
    /// task was cancelled.
    ///
    /// ``NextStep`` and ``wait(for:)`` throw this error. A step that waits for something else sees that its task is cancelled, and finds
    /// the reason here.
    public var endReason: TrellisError? { call.endReason as? TrellisError }

    /// Whether one of the redirects, or the link that the request follows, has led to another origin.
    package var hasLeftOrigin: Bool { later?.hasLeftOrigin ?? false }
    /// The request that the last redirect led to; `nil` until the first redirect.
    var hop: RedirectedHop? { later?.hop }
    /// The number of attempts that were begun concurrently with others, by hedging.
    package var hedges: Int {
        get { later?.hedges ?? 0 }
        set { change { $0.hedges = newValue } }
    }
    /// The call to which the context belongs.
    package let call: Call
    /// The other values behind one reference, because a context is copied often, and each waiting step keeps a copy; `nil` in the first hop
    /// of the first attempt.
    private var storage: Boxed<Parts>?

    private var later: Parts? { storage?.value }

    init(_ call: Call) {
        self.call = call
        if call.request.extras != nil, call.request.hasLeftOrigin { change { $0.hasLeftOrigin = true } }
    }

    /// Waits on the clock of the session; a test's clock stands still until the test advances it.
    ///
    /// The call's deadline ends the wait, as it ends every step.
    ///
    /// - Throws: The ``endReason`` when the call has ended; `CancellationError` if there is none, because the task was cancelled.
    public func wait(for duration: Duration) async throws {
        do { try await pause(for: duration) } catch let error as CancellationError { throw endReason ?? error }
    }

    /// Waits on the clock of the session, for the framework.
    ///
    /// - Throws: `CancellationError` when the call has ended; ``TrellisError`` of kind ``TrellisError/Kind/cancelled`` when the
    ///   session has been shut down.
    @inline(never)
    package func pause(for duration: Duration) async throws {
        try Task.checkCancellation()
        guard duration > .zero else { return }
        guard try await call.waitingEngine.delay(for: duration, of: call) else {
            throw TrellisError(.cancelled(.sessionShutDown))
        }
    }

    /// Waits for the end of a limit on something that the call waits for. The limit is no pause of the call.
    ///
    /// - Parameter isAtRest: Whether the call may be at rest meanwhile.
    func waitForLimit(_ end: EngineInstant, isAtRest: Bool = true) async throws {
        try Task.checkCancellation()
        guard end > now else { return }
        guard try await call.waitingEngine.delay(until: end, of: isAtRest ? call : nil, isLimit: true) else {
            throw TrellisError(.cancelled(.sessionShutDown))
        }
    }

    /// Returns the result of work that is performed within a time on the session's clock; `nil` if the time is over before. The work is
    /// cancelled then, and waited for.
    ///
    /// - Throws: The error of the work; `CancellationError` when the call has ended; ``TrellisError`` of kind
    ///   ``TrellisError/Kind/cancelled`` when the session has been shut down.
    @inline(never)
    package func result<Value: Sendable>(
        within limit: Duration, of work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value? {
        let end = now.advanced(by: limit)
        // The call is at rest while both wait.
        call.changeWaitsAtRest(by: 1)
        defer { call.changeWaitsAtRest(by: -1) }
        return try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await work() }
            group.addTask {
                try await waitForLimit(end)
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }

    /// Adds a redirect that the call follows.
    mutating func follow(_ redirect: Redirect, to hop: RedirectedHop? = nil) {
        change {
            $0.hop = hop
            $0.redirects.append(redirect)
            $0.hasLeftOrigin = $0.hasLeftOrigin || redirect.changesOrigin
        }
    }
}

extension CallContext {
    /// The values of a context.
    private struct Parts: Sendable {
        var attempt = 1
        var redirects: [Redirect] = []
        var hasLeftOrigin = false
        var hedges = 0
        var hop: RedirectedHop?
    }

    private mutating func change(_ body: (inout Parts) -> Void) {
        var parts = storage?.value ?? Parts()
        body(&parts)
        storage = Boxed(parts)
    }
}

/// The request that a redirect led to, before and after the adapters.
final class RedirectedHop: Sendable {
    /// The request without the changes of adapters, which run again when this hop is retried.
    let asked: Request
    /// The request as it is sent.
    let adapted: Request

    init(asked: Request, adapted: Request) {
        self.asked = asked
        self.adapted = adapted
    }
}

/// The result of an attempt, and the context of the hop at which the attempt ended.
struct AttemptEnd: Sendable {
    var result: Result<StepResponse, any Error>
    /// The context of the last hop of the attempt.
    var context: CallContext
    /// The last request of the attempt.
    let last: LastRequest
    /// Whether the hop was answered with a redirect that could not be followed, so that sending its request again would
    /// repeat a request that was answered.
    var isAnswered = false
}

extension CallContext {
    /// Takes note that the call waits for the response to an identical request, which an error at the deadline names as the reason, or that
    /// it is about to continue.
    package func noteWaitForSharedAnswer(begins: Bool) {
        let wait = begins ? CallWait.sharedAnswer(since: now) : nil
        call.record.withLock { $0.wait = wait }
    }

    /// The present instant on the session's clock.
    package var now: EngineInstant { call.clock.now() }
}

/// The last request of a call: the one that was sent, or that a stored response answers. Until then, the caller's.
///
/// Attempts that run concurrently have one each.
package final class LastRequest: Sendable {
    private let latest: Locked<any SentRequest>
    /// The last request of all attempts; `nil` if this is that.
    private let ofCall: LastRequest?

    init(_ first: any SentRequest) {
        latest = Locked(first)
        ofCall = nil
    }

    /// Creates the last request of an attempt that runs beside others.
    init(besideOthersOf call: LastRequest) {
        latest = Locked(call.value)
        ofCall = call
    }

    var value: any SentRequest { latest.withLock { $0 } }

    package func note(_ request: any SentRequest) {
        latest.withLock { $0 = request }
        ofCall?.note(request)
    }
}
