import CurlEngine
import HTTPTypes

/// How a body waits for the server's word (`Expect: 100-continue`; RFC 9110, section 10.1.1).
extension ExchangeActor {
    /// The connection is ready, and the head goes out.
    func beginContinueWait() {
        guard state.expectation == .awaited, let wait = prepared.continueWait else { return }
        let timer = continueTimer ?? EngineTimer(ContinueTimerTarget(self))
        continueTimer = timer
        executor.engineLoop.set(timer, at: executor.now.advanced(byNanoseconds: wait))
    }

    func receivedInformational(_ head: ResponseHead) {
        informational.append(head)
        prepared.history?.tell(.informational(head))
        if head.status.code == 100 { endContinueWait(.permitBody) }
    }

    /// Ends the body's wait: the body follows, or the server has sent its final head and wants none.
    func endContinueWait(_ condition: ExchangeState.Condition) {
        cancelContinueTimer()
        handle(condition)
    }

    /// Sends nothing of the body, for which the server has not asked.
    func dropBody() {
        isBodySent = true
        task?.stopSending()
    }

    func cancelContinueTimer() {
        guard let continueTimer else { return }
        executor.engineLoop.cancel(continueTimer)
        self.continueTimer = nil
    }

    /// What a final head means for the body. `false`: the head is none for the caller, because the request goes out once more.
    func takeWordOnBody(_ head: ResponseHead) -> Bool {
        if head.status == .expectationFailed, prepared.continueWait != nil, state.expectation != .dropped,
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

    private func dropExpectation() {
        cancelContinueTimer()
        handle(.dropExpectation)
        pump?.stop()
        pump = nil
        task?.cancel()
        task = nil
        isReceivingPaused = false
        // The transport has called, and takes nothing new before it has been returned to.
        executor.submit { [self] in onEngine { $0.startWithoutExpectation() } }
    }

    private func startWithoutExpectation() {
        guard !state.isEnded, task == nil else { return }
        informational = []
        handle(.start)
    }

    /// The request as it goes out now.
    var presentRequest: TransportRequest {
        state.expectation == .dropped ? prepared.transportRequest.withoutExpectation : prepared.transportRequest
    }
}

/// The server has said nothing for as long as it had. It keeps the request while it waits.
private final class ContinueTimerTarget: EngineTimerTarget {
    private let request: ExchangeActor

    init(_ request: ExchangeActor) { self.request = request }

    func timerIsDue() { request.onEngine { $0.endContinueWait(.permitBody) } }
}

extension TransportRequest {
    fileprivate var withoutExpectation: TransportRequest {
        var request = request
        request.continueWait = nil
        request.headers[.expect] = nil
        return TransportRequest(request: request, wire: wire.withoutExpectation)
    }
}
