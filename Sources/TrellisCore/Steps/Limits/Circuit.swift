import CurlEngine

/// The state of one host's circuit, as a value.
struct Circuit: HostState {
    /// The decision about a request.
    enum Entry: Hashable {
        /// The request is sent; its outcome is reported with the permit.
        case admitted(Permit)
        /// The request is not sent.
        case refused(Refusal)
    }

    /// A permit to send a request, which ties its outcome to the era of the circuit in which the request was admitted.
    struct Permit: Hashable, Sendable {
        fileprivate let era: Int
        /// Whether the request tests a host whose circuit is open.
        fileprivate let isProbe: Bool
    }

    /// The reason why a circuit is open, and the time until it admits a request.
    struct Refusal: Hashable, Sendable {
        let failures: Int
        let requests: Int
        /// The time until the next request is admitted; `nil` if a request is under way to test the host.
        let nextAttempt: Duration?
    }

    /// A change of a circuit.
    enum Change: Hashable {
        /// The circuit has opened, or stays open after a failed test: requests to the host fail at once.
        case opened
        case closed
    }

    private enum Phase {
        case closed
        case open(until: EngineInstant)
        /// A single request is under way to test whether the host has recovered. A request that has not ended at this instant
        /// does not keep the next one from testing the host: it may be suspended, or wait forever.
        case probing(until: EngineInstant)
    }

    private let rules: CircuitRules
    private var phase = Phase.closed
    private var window: SlidingWindow
    /// The number of changes of the phase: the outcome of a request from an earlier era says nothing about the present one.
    private var era = 0
    private var failures = 0
    private var requests = 0

    init(_ rules: CircuitRules) {
        self.rules = rules
        window = SlidingWindow(length: rules.window)
    }

    /// Decides whether a request may be sent.
    mutating func enter(at now: EngineInstant) -> Entry {
        switch phase {
        case .closed: return .admitted(Permit(era: era, isProbe: false))
        case .open, .probing:
            if let refusal = refusal(at: now) { return .refused(refusal) }
            change(to: .probing(until: now.advanced(by: rules.openDuration)))
            return .admitted(Permit(era: era, isProbe: true))
        }
    }

    /// Returns the reason why a request may not be sent now; `nil` if it may.
    func refusal(at now: EngineInstant) -> Refusal? {
        switch phase {
        case .closed: nil
        case .open(let end): end > now ? refusal(.nanoseconds(end.nanoseconds(since: now))) : nil
        case .probing(let end): end > now ? refusal(nil) : nil
        }
    }

    /// Records the outcome of a request, once for each permit. Returns the change of the circuit, if there is one.
    @discardableResult
    mutating func leave(_ permit: Permit, _ outcome: CircuitBreaker.Outcome, at now: EngineInstant) -> Change? {
        guard permit.era == era else { return nil }
        guard !permit.isProbe else { return probed(outcome, at: now) }
        guard outcome != .neutral else { return nil }
        window.count(outcome == .failure, at: now)
        guard window.total >= max(rules.minimumRequests, 1), window.marked > 0,
            Double(window.marked) >= Double(window.total) * rules.failureRatio
        else { return nil }
        (failures, requests) = (window.marked, window.total)
        open(at: now)
        return .opened
    }

    mutating func isForgettable(at now: EngineInstant) -> Bool {
        switch phase {
        case .closed:
            window.advance(to: now)
            return window.total == 0
        // A host without a request for the length of the window may have recovered. There may be many dead hosts.
        case .open(let end): return end.advanced(by: rules.window) <= now
        case .probing: return false
        }
    }

    private mutating func probed(_ outcome: CircuitBreaker.Outcome, at now: EngineInstant) -> Change? {
        switch outcome {
        case .success:
            window = SlidingWindow(length: rules.window)
            change(to: .closed)
            return .closed
        case .failure:
            open(at: now)
            return .opened
        case .neutral:
            // The next request tests the host.
            change(to: .open(until: now))
            return nil
        }
    }

    private mutating func open(at now: EngineInstant) {
        change(to: .open(until: now.advanced(by: rules.openDuration)))
    }

    private mutating func change(to phase: Phase) {
        self.phase = phase
        era += 1
    }

    private func refusal(_ nextAttempt: Duration?) -> Refusal {
        Refusal(failures: failures, requests: requests, nextAttempt: nextAttempt)
    }
}
