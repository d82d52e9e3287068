import CurlEngine
import TrellisCore

/// The requests that wait for the response to an equal one.
final class CacheFlight: Sendable {
    /// The end of a request, for those that wait for its response.
    enum Outcome: Hashable, Sendable {
        /// The response is stored.
        case stored
        /// The response is not stored, or there is none.
        case notStored
        /// The request was cancelled: another one takes its place.
        case left
    }

    private struct Waiter {
        let continuation: CheckedContinuation<Outcome?, Never>
        let context: CallContext

        /// Ends the wait. The call waits no more even before its task runs: a test clock must not move until then.
        func resume(returning outcome: Outcome?) {
            context.noteWaitForSharedAnswer(begins: false)
            continuation.resume(returning: outcome)
        }
    }

    private struct State {
        var outcome: Outcome?
        var waiters: [UInt64: Waiter] = [:]
        /// The turn among several processes, which ends with the request; `nil` if it has none.
        var giveBack: (@Sendable () -> Void)?
        /// The waits that were cancelled before they began.
        var cancelled: Set<UInt64> = []
        var lastNumber: UInt64 = 0
    }

    private let state = Locked(State())

    /// The number of requests that wait.
    var waitingCount: Int { state.withLock { $0.waiters.count } }

    /// The end of the request; `nil` before it.
    var outcome: Outcome? { state.withLock { $0.outcome } }

    /// Ends the wait.
    func settle(_ outcome: Outcome) {
        let (waiters, giveBack) = state.withLock { state in
            if state.outcome == nil { state.outcome = outcome }
            defer { (state.waiters, state.giveBack) = ([:], nil) }
            return (state.waiters, state.giveBack)
        }
        giveBack?()
        for waiter in waiters.values { waiter.resume(returning: outcome) }
    }

    /// Gives a turn back at the end of the request.
    func hold(_ giveBack: @escaping @Sendable () -> Void) {
        let hasEnded = state.withLock { state in
            if state.outcome == nil { state.giveBack = giveBack }
            return state.outcome != nil
        }
        if hasEnded { giveBack() }
    }

    /// Waits for the end of the request, in a call. Returns `nil` in a cancelled task.
    func wait(in context: CallContext) async -> Outcome? {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        return await withTaskCancellationHandler {
            await withContinuation { (continuation: CheckedContinuation<Outcome?, Never>) in
                let (mustWait, outcome) = state.withLock { state -> (Bool, Outcome?) in
                    if let outcome = state.outcome { return (false, outcome) }
                    if state.cancelled.remove(number) != nil { return (false, nil) }
                    state.waiters[number] = Waiter(continuation: continuation, context: context)
                    context.noteWaitForSharedAnswer(begins: true)
                    return (true, nil)
                }
                if !mustWait { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                let waiter = state.waiters.removeValue(forKey: number)
                if waiter == nil, state.outcome == nil { state.cancelled.insert(number) }
                return waiter
            }
            waiter?.resume(returning: nil)
        }
    }
}
