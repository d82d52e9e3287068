#if Observability
public import TrellisCore

extension SessionConfiguration {
    /// Observes the requests of the session with logs, metrics and traces. A second call replaces the first.
    ///
    /// Application steps that are added after this run inside of the call's span (``Observability/createsCallSpans``).
    ///
    /// - Parameter observability: The parts of the observation; all of them by default, without a span around the call.
    public mutating func observe(with observability: Observability = Observability()) {
        steps.observe(with: observability)
        // Calls of a session that has no observer ask none.
        guard observability.isEmpty else { return }
        steps.exchangeObserver = nil
        steps.application.removeAll { $0 is CallSpan }
    }
}

extension Steps {
    /// Observes the requests of these steps: a session's, or a single request, whose observation replaces its session's.
    ///
    /// ```swift
    /// var quiet = Observability()
    /// quiet.logLevels = .off
    /// let request = Request(url).withSteps { $0.observe(with: quiet) }
    /// ```
    ///
    /// A request whose observation has no parts is not observed, whatever its session has.
    public mutating func observe(with observability: Observability = Observability()) {
        let instrumentation = ExchangeInstrumentation(observability)
        exchangeObserver = instrumentation
        application.removeAll { $0 is CallSpan }
        if observability.createsCallSpans { application.insert(CallSpan(instrumentation), at: 0) }
    }
}
#endif
