/// The restart of an exchange: its request is sent again, and the caller does not notice.
extension ExchangeActor {
    /// Returns whether the request is sent again after a failure: at most once, only before a head has arrived, and only if its body can
    /// be sent again. An idempotent request is sent again if a reused connection was dead and libcurl did not repeat the request itself,
    /// because it cannot rewind a stream, or because it cannot recognise a dead connection over HTTP/2. Any request is sent again if the
    /// server has refused it without processing it, and one that is sent once is sent again only then.
    func mayRestart(after failure: TransportFailure) -> Bool {
        guard !state.hasRestarted, head == nil, prepared.source.mayBeReplayed || failure.isUnprocessed else {
            return false
        }
        if failure.reason == .bodyFailed(.notReplayable) { return prepared.streamedBody?.isReplayable == true }
        if failure.isUnprocessed { return prepared.streamedBody?.isReplayable != false }
        let isStale = failure.isConnectionFailure && report?.isReusedConnection == true
        return isStale && prepared.streamedBody?.isReplayable != false
    }

    /// Returns the error for a failure.
    func error(for failure: TransportFailure) -> TrellisError {
        var error = TrellisError(reason(for: failure))
        error.isUntried = failure.reason == .timedOut(.connect) && prepared.limits.connect == 0
        return error
    }

    /// Returns the error reason for a failure. That libcurl cannot send the body again is only a consequence: the reason is the loss of the
    /// connection. The body may still be replayable for a retrier.
    private func reason(for failure: TransportFailure) -> TrellisError.Reason {
        guard failure.reason == .bodyFailed(.notReplayable) else { return failure.reason }
        if prepared.streamedBody?.isReplayable != false { return .exchangeFailed(.connectionLost) }
        return failure.loss ?? failure.reason
    }

    /// Sends the request again.
    func restart() {
        handle(.restart)
        report = nil
        sending = .none
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
