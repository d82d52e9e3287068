import CurlEngine
import HTTPTypes

/// The wait of a request's body for the server's permission (`Expect: 100-continue`; RFC 9110, section 10.1.1).
extension ExchangeActor {
    /// Starts the timer of the wait, when the connection is ready and the head is sent.
    func beginContinueWait() {
        guard state.expectation == .awaited, let wait = prepared.expectContinueTimeout else { return }
        let timer = continueTimer ?? EngineTimer(ContinueTimerTarget(self))
        continueTimer = timer
        executor.engineLoop.set(timer, at: executor.now.advanced(byNanoseconds: wait))
    }

    /// Stores an informational head. Status 100 ends the body's wait.
    func receiveInformational(_ head: ResponseHead, in attempt: ExchangeState.Attempt) {
        guard isPresent(attempt) else { return }
        // Not appended in place, because every read of the property would then have to check for exclusive access at run time. Nor to a
        // copy: a server may send thousands of these heads.
        var heads = informational
        informational = []
        heads.append(head)
        informational = heads
        prepared.history?.tell(.informational(head))
        prepared.source.informationalHeads?.receive(head)
        if head.status.code == 100 { endContinueWait(.permitBody) }
    }

    /// Ends the body's wait: either the body is sent, or the server has sent its final head and does not need the body.
    func endContinueWait(_ condition: ExchangeState.Condition) {
        cancelContinueTimer()
        handle(condition)
    }

    /// Drops the body, because the server has not asked for it.
    func dropBody() {
        if !isBodySent { sending = .none }
        isBodySent = true
        task?.stopSending()
    }

    func cancelContinueTimer() {
        guard let continueTimer else { return }
        executor.engineLoop.cancel(continueTimer)
        self.continueTimer = nil
    }

    /// Applies a final head to the body. Returns `false` if the request is sent again, so that the caller does not get this head.
    func applyFinalHeadToBody(_ head: ResponseHead) -> Bool {
        if head.status == .expectationFailed, prepared.expectContinueTimeout != nil, state.expectation != .dropped,
            !prepared.source.isSentOnce,
            state.expectation == .awaited || prepared.streamedBody?.isReplayable == true
        {
            dropExpectation()
            return false
        }
        if state.expectation == .awaited {
            endContinueWait(.declineBody)
        } else if head.status.code >= 300 {
            stopSending()
        }
        return true
    }

    /// Cancels the attempt, and sends the request again without the expectation.
    private func dropExpectation() {
        cancelContinueTimer()
        handle(.dropExpectation)
        // The body of the next attempt may be passed on before its connection is ready.
        sending = .none
        pump?.stop()
        pump = nil
        task?.cancel()
        task = nil
        isReceivingPaused = false
        // The transport is in a callback, and cannot start another attempt before the callback has returned.
        submitDirectly { $0.startWithoutExpectation() }
    }

    private func startWithoutExpectation() {
        guard !state.isEnded, task == nil else { return }
        informational = []
        handle(.start)
    }

    /// The request of the present attempt, without the expectation once that was dropped.
    var presentRequest: TransportRequest {
        state.expectation == .dropped ? prepared.withoutExpectation : prepared
    }
}

/// The target of the timer that ends the wait for a silent server. Retains the exchange while the timer is set.
private final class ContinueTimerTarget: EngineTimerTarget {
    private let request: ExchangeActor

    init(_ request: ExchangeActor) { self.request = request }

    func timerIsDue() { request.onEngineThread.endContinueWait(.permitBody) }
}

extension TransportRequest {
    fileprivate var withoutExpectation: TransportRequest {
        var request = request
        request.expectContinueTimeout = nil
        request.headers[.expect] = nil
        return TransportRequest(request: request, wire: wire.withoutExpectation)
    }
}
