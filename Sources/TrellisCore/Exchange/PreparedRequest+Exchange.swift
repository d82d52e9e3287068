import CurlEngine
import HTTPTypes

/// The decisions about a request that depend on nothing but the request and what has happened to it.
extension PreparedRequest {
    /// The facts about the request with which its exchange begins.
    var facts: ExchangeState.Facts {
        var facts: ExchangeState.Facts = []
        if streamedBody != nil { facts.insert(.hasSource) }
        if expectContinueTimeout != nil { facts.insert(.expectsContinue) }
        return facts
    }

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
    /// processing it, and one that is sent once is sent again only then.
    func mayRestart(after failure: TransportFailure, isReused: Bool) -> Bool {
        guard source.mayBeReplayed || failure.isUnprocessed else { return false }
        if failure.reason == .bodyFailed(.notReplayable) { return streamedBody?.isReplayable == true }
        guard failure.isUnprocessed || failure.isConnectionFailure && isReused else { return false }
        return streamedBody?.isReplayable != false
    }

    /// Returns the error for a failure.
    func error(for failure: TransportFailure) -> TrellisError {
        var error = TrellisError(reason(for: failure))
        error.isUntried = failure.reason == .timedOut(.connect) && limits.connect == 0
        return error
    }

    /// Returns the error reason for a failure. That libcurl cannot send the body again is only a consequence: the reason is the loss of the
    /// connection. The body may still be replayable for a retrier.
    private func reason(for failure: TransportFailure) -> TrellisError.Reason {
        guard failure.reason == .bodyFailed(.notReplayable) else { return failure.reason }
        if streamedBody?.isReplayable != false { return .exchangeFailed(.connectionLost) }
        return failure.loss ?? failure.reason
    }
}

extension TrellisError.Phase {
    /// Creates the phase of an error that ends an attempt with this progress; `nil` means that the attempt has not started.
    init(_ progress: ExchangeState.Progress?) {
        self =
            switch progress {
            case nil: .composing
            case .parked, .queued: .queued
            case .connecting: .connecting
            case .sending: .sending
            case .receiving: .receiving
            }
    }
}
