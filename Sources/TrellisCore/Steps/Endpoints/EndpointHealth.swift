import CurlEngine

/// The health of one endpoint, as a value: whether it may get requests, by the outcomes of earlier ones.
struct EndpointHealth: Sendable {
    /// The permission of a request, which ties its outcome to the era in which it was sent.
    struct Permit: Hashable, Sendable {
        fileprivate let era: Int
        /// Whether the request tests an endpoint that was ejected.
        let isProbe: Bool
    }

    /// A change of an endpoint.
    enum Change: Hashable, Sendable {
        /// The endpoint gets no requests for this time, again or for the first time.
        case ejected(for: Duration)
        /// The endpoint gets requests again.
        case returned
    }

    private enum Phase {
        case good
        case ejected(until: EngineInstant)
        /// A single request tests the endpoint. One that has not ended at this instant keeps the next one from nothing.
        case probed(until: EngineInstant)
    }

    /// The rules; `nil` if the endpoint is never ejected.
    private let rules: EndpointEjection?
    private var phase = Phase.good
    private var window: SlidingWindow
    /// The number of failures since the last success.
    private var failuresInRow = 0
    /// The number of changes of the phase: the outcome of a request from an earlier era says nothing about the present one.
    private var era = 0
    /// The number of ejections between which the endpoint has not worked for long.
    private var ejections = 0
    private var lastDuration = Duration.zero
    /// The instant at which the endpoint has returned.
    private var returned = EngineInstant(nanoseconds: 0)

    init(_ rules: EndpointEjection?) {
        self.rules = rules
        window = SlidingWindow(length: rules?.window ?? .seconds(1))
    }

    /// Whether the endpoint was ejected, and has not returned.
    var isEjected: Bool { if case .good = phase { false } else { true } }

    /// Returns whether a request may be sent.
    func isAvailable(at now: EngineInstant) -> Bool {
        switch phase {
        case .good: true
        case .ejected(let end), .probed(let end): end <= now
        }
    }

    /// Records that a request is sent, which tests an endpoint that was ejected.
    mutating func begin(at now: EngineInstant) -> Permit {
        guard isEjected else { return Permit(era: era, isProbe: false) }
        change(to: .probed(until: now.advanced(by: lastDuration)))
        return Permit(era: era, isProbe: true)
    }

    /// Records the outcome of a request, once for each permit. Returns the change of the endpoint, if there is one.
    ///
    /// - Parameter mayEject: Whether enough other endpoints are left.
    mutating func end(
        _ permit: Permit, _ outcome: CircuitBreaker.Outcome, mayEject: Bool, at now: EngineInstant
    ) -> Change? {
        guard permit.era == era else { return nil }
        guard !permit.isProbe else { return probed(outcome, at: now) }
        switch outcome {
        case .neutral: return nil
        case .success:
            failuresInRow = 0
            window.count(at: now)
            return nil
        case .failure:
            failuresInRow += 1
            window.count(true, at: now)
            guard let rules, mayEject, isBad(by: rules) else { return nil }
            if returned.advanced(by: lastDuration) <= now { ejections = 0 }
            return eject(by: rules, at: now)
        }
    }

    private func isBad(by rules: EndpointEjection) -> Bool {
        if let most = rules.consecutiveFailures, failuresInRow >= max(most, 1) { return true }
        guard let ratio = rules.failureRatio, window.total >= max(rules.minimumRequests, 1) else { return false }
        return Double(window.marked) >= Double(window.total) * ratio
    }

    private mutating func probed(_ outcome: CircuitBreaker.Outcome, at now: EngineInstant) -> Change? {
        guard let rules else { return nil }
        switch outcome {
        case .success:
            window = SlidingWindow(length: rules.window)
            returned = now
            change(to: .good)
            return .returned
        case .failure: return eject(by: rules, at: now)
        case .neutral:
            // The next request tests the endpoint.
            change(to: .ejected(until: now))
            return nil
        }
    }

    private mutating func eject(by rules: EndpointEjection, at now: EngineInstant) -> Change {
        ejections += 1
        lastDuration = rules.duration.backoff(after: ejections, upTo: max(rules.maximumDuration, .zero))
        change(to: .ejected(until: now.advanced(by: lastDuration)))
        return .ejected(for: lastDuration)
    }

    private mutating func change(to phase: Phase) {
        self.phase = phase
        failuresInRow = 0
        era += 1
    }
}

extension CircuitBreaker.Outcome {
    /// Creates the outcome of a response or an error, as far as the endpoint is concerned to which the request was sent: a server that does
    /// not serve the origin is none of its endpoints.
    init(ofEndpoint status: Int?, error: (any Error)?) {
        if error == nil, status == 421 {
            self = .failure
            return
        }
        switch (error as? TrellisError)?.reason {
        case .securityFailed(.untrusted), .securityFailed(.pinMismatch), .securityFailed(.serverTrustEvaluationFailed),
            .securityFailed(.version):
            self = .failure
        default: self.init(status: status, error: error)
        }
    }
}
