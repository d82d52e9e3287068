import CurlEngine

/// The evaluations of a host's chains that are under way. The calls that need the evaluation of the same chain share one.
final class SharedEvaluations: Sendable {
    /// The result of an evaluation; `nil` if it has none, because its task was cancelled.
    private typealias Outcome = Result<Void, TrellisError>?
    private typealias Waiter = CheckedContinuation<Outcome, Never>

    private struct Evaluation {
        /// The number of the call that makes the evaluation.
        let owner: UInt64
        /// The calls that wait for the result, by their numbers.
        var waiters: [UInt64: Waiter] = [:]
    }

    private struct State {
        /// The evaluations under way, by chain.
        var evaluations: [CertificateChain: Evaluation] = [:]
        /// The calls that were cancelled before they began to wait.
        var cancelled: Set<UInt64> = []
        var lastNumber: UInt64 = 0
    }

    private let state = Locked(State())

    /// Evaluates a chain in the calling task, or waits for an evaluation that is under way, and has its result. If the task of that one is
    /// cancelled, one of the calls that wait evaluates the chain itself. Returns without a result if the calling task is cancelled.
    func evaluate(
        _ chain: CertificateChain, with evaluation: () async throws(TrellisError) -> Void
    ) async throws(TrellisError) {
        while !Task.isCancelled {
            let (number, isOwner) = enter(chain)
            guard isOwner else {
                if let outcome = await outcome(of: chain, number) { return try outcome.get() }
                continue
            }
            let result: Result<Void, TrellisError> = await withTaskCancellationHandler {
                do throws(TrellisError) {
                    return .success(try await evaluation())
                } catch {
                    return .failure(error)
                }
            } onCancel: {
                // The others do not wait for an evaluator that ignores its cancellation.
                finish(chain, number, nil)
            }
            finish(chain, number, Task.isCancelled ? nil : result)
            return try result.get()
        }
    }

    /// Returns a number for a call, and whether the call makes the evaluation because none is under way.
    private func enter(_ chain: CertificateChain) -> (number: UInt64, isOwner: Bool) {
        state.withLock { state in
            state.lastNumber += 1
            let isOwner = state.evaluations[chain] == nil
            if isOwner { state.evaluations[chain] = Evaluation(owner: state.lastNumber) }
            return (state.lastNumber, isOwner)
        }
    }

    private func outcome(of chain: CertificateChain, _ number: UInt64) async -> Outcome {
        let outcome = await withTaskCancellationHandler {
            await withContinuation { (waiter: Waiter) in
                let isWaiting = state.withLock { state in
                    guard !state.cancelled.contains(number), state.evaluations[chain] != nil else { return false }
                    state.evaluations[chain]?.waiters[number] = waiter
                    return true
                }
                if !isWaiting { waiter.resume(returning: nil) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                let waiter = state.evaluations[chain]?.waiters.removeValue(forKey: number)
                if waiter == nil { state.cancelled.insert(number) }
                return waiter
            }
            waiter?.resume(returning: nil)
        }
        state.withLock { _ = $0.cancelled.remove(number) }
        return outcome
    }

    /// Ends an evaluation, unless it has ended.
    private func finish(_ chain: CertificateChain, _ owner: UInt64, _ outcome: Outcome) {
        let waiters = state.withLock { state in
            state.evaluations[chain]?.owner == owner ? state.evaluations.removeValue(forKey: chain)?.waiters : nil
        }
        for waiter in (waiters ?? [:]).values { waiter.resume(returning: outcome) }
    }
}
