import CurlEngine
import FoundationEssentials

/// The decision whether a further attempt is made.
extension Pipeline {
    /// Validates a response in memory as part of its attempt, so that retriers can decide about a response that is refused. Waits for the
    /// first byte of a stream, if a policy wants that.
    func validated(_ end: AttemptEnd) async -> AttemptEnd {
        guard case .success(let answer) = end.result else { return end }
        if call.delivery == .stream, attached.waitsForFirstByte { return await withFirstByte(end, of: answer) }
        guard call.delivery == .memory, let body = answer.data,
            let conditions = call.record.withLock({ $0.conditions.first })
        else { return end }
        let whole = Answer(
            to: answer.sent, response: answer.response, body: body,
            observer: call.observer.map { _ in ValidationRecorder(call) })
        var (end, validated) = (end, answer)
        validated.validationResult = await conditions.validationResult(of: whole)
        end.result = .success(validated)
        return end
    }

    /// Returns the end of an attempt whose response has the first chunk of its body; the failure before that chunk.
    private func withFirstByte(_ end: AttemptEnd, of answer: StepResponse) async -> AttemptEnd {
        guard case .source(let token) = answer.content, answer.response.status.kind == .successful else { return end }
        var end = end
        do {
            if let chunk = try await token.source.next() {
                let body = BegunBodySource(chunk, token)
                end.result = .success(answer.replacing(answer.response, .source(TransferToken(body))))
            }
        } catch {
            end.result = .failure(token.source.completed(error, reading: answer.response))
        }
        return end
    }

    /// Returns the request with which the next attempt begins. Adapters change it again, unless a redirect has left their origin.
    private func restart(of request: Request) -> Request {
        guard let hop = context.hop else { return request }
        return context.hasLeftOrigin ? hop.adapted : hop.asked
    }

    /// Returns the time to wait before the next attempt; `nil` if there is no further attempt, and the result is final.
    ///
    /// - Parameter request: The request of the call.
    @inline(never)
    func decision(on end: AttemptEnd, of request: Request) async throws -> Duration? {
        guard !steps.retriers.isEmpty, var failed = failedAttempt(end),
            !end.isAnswered || failed.request.mayBeRepeated
        else { return nil }
        // An adapter that has set a body which can be read once may set the same one again.
        failed.hasReplayableBody = failed.hasReplayableBody && restart(of: request).hasReplayableBody
        guard let wait = try await wait(after: failed) else { return nil }
        call.tellValidations()
        tell { .retrying(after: wait, because: end.result.failure) }
        call.exchangeObserver?.willRetry(failed, after: wait, context: context)
        return wait
    }

    /// Returns the failed attempt that is passed to retriers; `nil` if there is nothing to retry.
    private func failedAttempt(_ end: AttemptEnd) -> FailedAttempt? {
        switch end.result {
        case .failure(let error): return FailedAttempt(request: end.last.value.sentRequest, error: error)
        case .success(let answer):
            let error = answer.validationResult?.error
            guard error != nil || answer.response.status.code >= 400 else { return nil }
            var failed = FailedAttempt(
                request: answer.sent.sentRequest, response: answer.response, body: answer.data, error: error)
            if answer.data == nil { failed.discard = { [context] in await answer.discard(context) } }
            return failed
        }
    }

    /// Asks the retriers in order for the time to wait before the next attempt; `nil` if no retrier asks for one.
    private func wait(after failed: FailedAttempt) async throws -> Duration? {
        for retrier in steps.retriers {
            try call.checkCancellation()
            switch await retrier.retry(failed, context: context) {
            case .doNotRetry: continue
            case .doNotRetryWithError(let error): throw error
            case .retry: return try mayRetry(failed, after: .zero)
            case .retryWithDelay(let delay): return try mayRetry(failed, after: max(delay, .zero))
            }
        }
        return nil
    }

    /// Returns the delay; `nil` if the deadline is earlier. Throws an error if the body cannot be sent again.
    private func mayRetry(_ failed: FailedAttempt, after delay: Duration) throws -> Duration? {
        if let remaining = context.remainingTime, delay >= remaining { return nil }
        guard failed.hasReplayableBody else { throw failed.isNotReplayable }
        return delay
    }
}

/// The body of a response whose first chunk has been received.
private final class BegunBodySource: WrappingSource {
    private let first: Locked<Data?>
    let token: TransferToken

    init(_ first: Data, _ token: TransferToken) {
        self.first = Locked(first)
        self.token = token
    }

    func next() async throws -> Data? {
        let chunk = first.withLock { first in
            defer { first = nil }
            return first
        }
        if let chunk { return chunk }
        return try await token.source.next()
    }

    func finalResponse() async throws -> Response { try await token.source.finalResponse() }

    /// Ends the transfer. The first chunk stays, as the bytes do that the transfer has stored: without it, a body that has ended would lack
    /// its beginning.
    func cancel(explicitly: Bool) { token.source.cancel(explicitly: explicitly) }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let failure) = self { failure } else { nil } }
}
