import CurlEngine

/// The judgement whether an exchange sends its request again: on another connection after a failure, or without its expectation.
extension PreparedRequest {
    /// The request without the expectation of status 100.
    var withoutExpectation: TransportRequest {
        var request = request
        request.expectContinueTimeout = nil
        request.headers[.expect] = nil
        return TransportRequest(request: request, wire: wire.withoutExpectation)
    }

    /// Returns whether the request is sent without its expectation after a status of 417.
    func mayDropExpectation(in state: ExchangeState) -> Bool {
        guard expectContinueTimeout != nil, state.expectation != .dropped, !source.isSentOnce else { return false }
        return state.expectation == .awaited || streamedBody?.isReplayable == true
    }

    /// Returns whether the request is sent again after a failure before its head, if its body can be sent again. An idempotent request is
    /// sent again if a reused connection was dead and libcurl did not repeat the request itself, because it cannot rewind a stream, or
    /// because it cannot recognise a dead connection over HTTP/2. Any request is sent again if the server has refused it without
    /// processing it, and one that is sent once is sent again only then. The engine itself does all of that over HTTP/2, except for a body
    /// that it cannot read again.
    func mayRestart(after failure: TransportFailure, isReused: Bool) -> Bool {
        guard !failure.isFinal, source.mayBeReplayed || failure.isUnprocessed else { return false }
        if failure.reason == .bodyFailed(.notReplayable) { return streamedBody?.isReplayable == true }
        guard failure.isUnprocessed || failure.isConnectionFailure && isReused else { return false }
        return streamedBody?.isReplayable != false
    }
}
