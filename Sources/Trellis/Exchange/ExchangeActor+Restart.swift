/// How a request goes out once more behind its caller's back.
extension ExchangeActor {
    /// A kept connection was dead, and libcurl cannot rewind a stream, or cannot tell over HTTP/2: an idempotent request whose
    /// body can be made again goes out once more. So does any that the server has refused unprocessed.
    func mayRestart(after failure: TransportFailure) -> Bool {
        guard !state.hasRestarted, head == nil, prepared.method.isIdempotent || failure.isUnprocessed else {
            return false
        }
        if failure.reason == .bodyFailed(.notReplayable) { return prepared.streamedBody?.isReplayable == true }
        if failure.isUnprocessed { return prepared.streamedBody?.isReplayable != false }
        let isStale = failure.isOfConnection && end?.report.reusedConnection == true
        return isStale && prepared.streamedBody?.isReplayable != false
    }

    /// What libcurl cannot send once more can still be made again, by whoever retries.
    func reason(for failure: TransportFailure) -> TrellisError.Reason {
        guard failure.reason == .bodyFailed(.notReplayable), prepared.streamedBody?.isReplayable != false else {
            return failure.reason
        }
        return .exchangeFailed(.connectionLost)
    }

    func restart() {
        handle(.restart)
        end = nil
        informational = []
        pump?.stop()
        pump = nil
        task = nil
        isReceivingPaused = false
        cancelContinueTimer()
        // A suspended exchange sends nothing: not even a request that has been on its way before.
        handle(.start)
    }
}
