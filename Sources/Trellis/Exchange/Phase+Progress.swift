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
