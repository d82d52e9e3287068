/// The restart of an exchange whose request goes out once more, unseen by its caller.
extension ExchangeActor {
    /// Indicates whether the request goes out once more. An idempotent request does if a kept connection was dead and libcurl
    /// cannot rewind a stream, or cannot tell over HTTP/2, and its body can be sent again. So does any request that the server has
    /// refused unprocessed.
    func mayRestart(after failure: TransportFailure) -> Bool {
        guard !state.hasRestarted, head == nil, prepared.method.isIdempotent || failure.isUnprocessed else {
            return false
        }
        if failure.reason == .bodyFailed(.notReplayable) { return prepared.streamedBody?.isReplayable == true }
        if failure.isUnprocessed { return prepared.streamedBody?.isReplayable != false }
        let isStale = failure.isConnectionFailure && report?.reusedConnection == true
        return isStale && prepared.streamedBody?.isReplayable != false
    }

    /// Returns the reason of the error for a failure. A body that libcurl cannot send again may still be replayable for a retrier.
    func reason(for failure: TransportFailure) -> TrellisError.Reason {
        guard failure.reason == .bodyFailed(.notReplayable), prepared.streamedBody?.isReplayable != false else {
            return failure.reason
        }
        return .exchangeFailed(.connectionLost)
    }

    /// Starts the request once more.
    func restart() {
        handle(.restart)
        report = nil
        informational = []
        pump?.stop()
        pump = nil
        task = nil
        isReceivingPaused = false
        cancelContinueTimer()
        // A suspended exchange sends nothing, not even a request that was sent before.
        handle(.start)
    }
}
