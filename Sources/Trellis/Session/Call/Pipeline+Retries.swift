import CurlEngine

/// The decision on a further attempt.
extension Pipeline {
    /// An answer in memory is validated as part of its attempt, so that retriers hear of one that is refused.
    func judged(_ end: AttemptEnd) async -> AttemptEnd {
        guard case .success(let answer) = end.result, call.delivery == .memory else { return end }
        return AttemptEnd(result: .success(await self.request.judged(answer)), context: end.context)
    }

    /// How long to wait before the next attempt; `nil`: the result stands.
    func retry(after end: AttemptEnd, of request: Request) async throws -> Duration? {
        if steps.retriers.isEmpty { return nil }
        return try await decision(on: end, of: context.hop?.asked ?? request)
    }

    @inline(never)
    func decision(on end: AttemptEnd, of request: Request) async throws -> Duration? {
        guard let failed = self.request.failedAttempt(end.result), !end.isAnswered || failed.request.mayBeRepeated,
            let wait = try await wait(behind: failed, of: request)
        else { return nil }
        tell { .retrying(after: wait, because: end.result.failure) }
        return wait
    }

    func wait(behind failed: FailedAttempt, of request: Request) async throws -> Duration? {
        for retrier in steps.retriers {
            try Task.checkCancellation()
            switch await retrier.retry(failed, context: context) {
            case .doNotRetry: continue
            case .doNotRetryWithError(let error): throw error
            case .retry: return try mayRetry(failed, of: request, after: .zero)
            case .retryAfter(let delay): return try mayRetry(failed, of: request, after: max(delay, .zero))
            }
        }
        return nil
    }

    func mayRetry(_ failed: FailedAttempt, of request: Request, after delay: Duration) throws -> Duration? {
        if let remaining = context.remainingTime, delay >= remaining { return nil }
        guard request.body?.isReplayable ?? true else { throw failed.isNotReplayable }
        return delay
    }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let failure) = self { failure } else { nil } }
}
