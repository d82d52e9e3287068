import CurlEngine

/// The events of an attempt for observers, called for each event that ``ExchangeState`` has handled.
extension ExchangeActor {
    /// The progress of a request that is being sent, for observers.
    enum Sending {
        /// The connection is not ready, or not observed, or the rest of the body is dropped.
        case none
        /// The request is being sent.
        case begun
        /// The observers were told that the request was sent.
        case told
    }

    func tell(_ event: ExchangeState.Event, after progress: ExchangeState.Progress?) {
        if endObserver != nil, state.isEnded { tellEnd() }
        guard let history = prepared.history, let observer = history.observer else { return }
        // A request that is sent again has another connection, and the same progress.
        guard event == .connect || state.progress != progress else { return }
        switch event {
        case .resume, .suspend:
            guard state.progress == .queued else { return }
            if let decision = prepared.proxyDecision { history.tell(.proxySelected(decision)) }
            observer.tellQueued(prepared, attempt: history.attempt)
        case .admit: observer.tell(.admitted, attempt: history.attempt)
        case .connect: if observer.observes(.connections) { tellConnection(history, observer) }
        case .head:
            guard let head else { return }
            // The transport may not have had the time to report it.
            let isSent = if let task, task.reportsSending { task.hasSentRequest } else { isBodySent }
            if sending == .begun, isSent { tellSent() }
            observer.tell(.head(head), attempt: history.attempt)
        case .complete, .discardRest, .fail, .cancel:
            // An exchange that has only brought the certificates is not reported.
            guard progress != nil, (failure as? TrellisError)?.pendingTrust == nil else { return }
            if failure == nil, case .success((_, let response))? = collected {
                // The response has the same metrics.
                observer.tellEnded(response, attempt: history.attempt)
            } else {
                history.tell(.exchangeEnded(finalMetrics, failure))
            }
        }
    }

    private func tellConnection(_ history: AttemptHistory, _ observer: CallObserver) {
        if task?.sharesConnection == true, let added = task?.connectionDetails.added {
            history.tell(.connectionAdded(number: added.number, streamLimit: added.streamLimit))
        }
        observer.tellConnected(ConnectionInfo(task, for: prepared), attempt: history.attempt)
        sending = .begun
        if let task, task.reportsSending {
            task.reportSending()
        } else if prepared.streamedBody == nil {
            tellSent()
        }
    }

    /// Tells the observers that the complete request was sent, once for each connection.
    private func tellSent() {
        guard sending == .begun else { return }
        sending = .told
        prepared.history?.tell(.requestSent(bodySize: passedBodySize))
    }

    /// The number of bytes of the request's body that the transport has taken. A body in memory is passed to it in one piece.
    var passedBodySize: Int64 {
        switch prepared.wire.body {
        case .none: 0
        case .bytes(let bytes): Int64(bytes.count)
        case .stream: sentBodyBytes
        }
    }

    // MARK: The end

    /// Calls a closure on the pool with the metrics of the exchange when that has ended; soon, if it has ended already.
    func whenEnded(_ observer: @escaping @Sendable (Metrics) -> Void) {
        endObserver = observer
        if state.isEnded { tellEnd() }
    }

    private func tellEnd() {
        guard let observer = endObserver else { return }
        endObserver = nil
        let metrics = finalMetrics
        Task.detached { observer(metrics) }
    }

    /// Tells the observers that the complete body was passed to a transport that does not report when it was sent.
    func bodyWasPassed() {
        guard sending == .begun, task?.reportsSending != true else { return }
        tellSent()
    }

    /// Records that the connection of an observed request was closed, because the attempt is cancelled and other requests do not share it.
    func noteClosing() {
        guard let task, task.reportsSending, !task.sharesConnection, var report, !report.peerHost.isEmpty else {
            return
        }
        report.isConnectionKept = false
        // Not changed in place, because every read of the property would then have to check for exclusive access at run time.
        self.report = report
    }

    // MARK: Steps

    func reach(_ step: TransferStep, in attempt: ExchangeState.Attempt) {
        guard isPresent(attempt), !state.isEnded, let history = prepared.history else { return }
        switch step {
        case .lookingUp(let host): history.tell(.lookingUp(host: host))
        case .lookedUp(let host): history.tell(.lookedUp(host: host))
        case .connecting(let address): history.tell(.connecting(to: address))
        case .handshaking(let host): history.tell(.handshaking(with: host))
        case .headSent: if sending == .begun { history.tell(.requestHeadSent) }
        case .sent: tellSent()
        }
    }
}

extension ExchangeActor: ObservedTransportEvents {
    nonisolated var observesSteps: Bool { prepared.history?.observer?.observes(.connections) ?? false }

    nonisolated func transportDidReach(_ step: TransferStep) { onEngineThread.reach(step, in: .first) }
}

extension LaterAttempt: ObservedTransportEvents {
    var observesSteps: Bool { request.observesSteps }

    func transportDidReach(_ step: TransferStep) { request.onEngineThread.reach(step, in: .later) }
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
