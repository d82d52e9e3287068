import CurlEngine

/// The evaluations of a host's chains that are under way. The calls that need the evaluation of the same chain share one.
final class SharedEvaluations: Sendable {
    /// The result of an evaluation; `nil` if it has none, because its task was cancelled.
    private typealias Outcome = Result<Void, TrellisError>?
    private typealias Waiter = CheckedContinuation<Outcome, Never>

    private struct State {
        /// The calls that wait, by their numbers, for each chain that is being evaluated.
        var waiters: [CertificateChain: [UInt64: Waiter]] = [:]
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
            guard let number = enter(chain) else {
                let result: Result<Void, TrellisError>
                do throws(TrellisError) {
                    try await evaluation()
                    result = .success(())
                } catch {
                    result = .failure(error)
                }
                finish(chain, Task.isCancelled ? nil : result)
                return try result.get()
            }
            if let outcome = await outcome(of: chain, number) { return try outcome.get() }
        }
    }

    /// Returns a number to wait with; `nil` if no evaluation is under way, and the caller is to make it.
    private func enter(_ chain: CertificateChain) -> UInt64? {
        state.withLock { state in
            guard state.waiters[chain] != nil else {
                state.waiters[chain] = [:]
                return nil
            }
            state.lastNumber += 1
            return state.lastNumber
        }
    }

    private func outcome(of chain: CertificateChain, _ number: UInt64) async -> Outcome {
        let outcome = await withTaskCancellationHandler {
            await withContinuation { (waiter: Waiter) in
                let isWaiting = state.withLock { state in
                    guard !state.cancelled.contains(number), state.waiters[chain] != nil else { return false }
                    state.waiters[chain]?[number] = waiter
                    return true
                }
                if !isWaiting { waiter.resume(returning: nil) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                let waiter = state.waiters[chain]?.removeValue(forKey: number)
                if waiter == nil { state.cancelled.insert(number) }
                return waiter
            }
            waiter?.resume(returning: nil)
        }
        state.withLock { _ = $0.cancelled.remove(number) }
        return outcome
    }

    private func finish(_ chain: CertificateChain, _ outcome: Outcome) {
        let waiters = state.withLock { $0.waiters.removeValue(forKey: chain) }
        for waiter in (waiters ?? [:]).values { waiter.resume(returning: outcome) }
    }
}
