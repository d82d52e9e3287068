import CurlEngine

/// The events of an attempt for observers, called for each event that ``ExchangeState`` has handled.
extension ExchangeActor {
    func tell(_ event: ExchangeState.Event, after progress: ExchangeState.Progress?) {
        guard let history = prepared.history, history.observer != nil, state.progress != progress else { return }
        switch event {
        case .resume, .suspend:
            guard state.progress == .queued else { return }
            if let decision = prepared.proxyDecision { history.tell(.proxySelected(decision)) }
            history.tell(.queued(prepared.request))
        case .admit: history.tell(.admitted)
        case .connect:
            if task?.sharesConnection == true, let added = (task as? any WaitingTransportTask)?.addedConnection {
                history.tell(.connectionAdded(number: added.number, streamLimit: added.streamLimit))
            }
            history.tell(.connected)
        case .head: if let head { history.tell(.head(head)) }
        case .complete, .discardRest, .fail, .cancel:
            // An exchange that has only brought the certificates is not reported.
            guard progress != nil, (failure as? TrellisError)?.pendingTrust == nil else { return }
            history.tell(.exchangeEnded(finalMetrics, failure))
        }
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
