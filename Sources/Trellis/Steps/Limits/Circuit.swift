import CurlEngine

/// The circuit of one host, as a value.
struct Circuit: HostState {
    /// What a request may do.
    enum Entry: Hashable {
        /// It is sent; what comes of it is told with the permit.
        case admitted(Permit)
        /// It is not.
        case refused(Refusal)
    }

    /// Ties what comes of a request to the state in which it was let through.
    struct Permit: Hashable, Sendable {
        fileprivate let era: Int
        fileprivate let isProbe: Bool
    }

    /// Why a circuit is open, and for how long yet.
    struct Refusal: Hashable, Sendable {
        let failures: Int
        let requests: Int
        /// `nil`: as soon as the request that is under way has succeeded.
        let nextAttempt: Duration?
    }

    /// What became of a circuit.
    enum Change: Hashable {
        /// It leaves its host alone, or goes on to do so.
        case opened
        case closed
    }

    private enum Phase {
        case closed
        case open(until: EngineInstant)
        /// One request is under way to see whether the host is well again.
        case probing
    }

    private let rules: CircuitRules
    private var phase = Phase.closed
    private var window: SlidingWindow
    /// One more with each change: what was let through before says nothing about what is now.
    private var era = 0
    private var failures = 0
    private var requests = 0

    init(_ rules: CircuitRules) {
        self.rules = rules
        window = SlidingWindow(length: rules.window)
    }

    /// Asks whether a request may be sent.
    mutating func enter(at now: EngineInstant) -> Entry {
        switch phase {
        case .closed: return .admitted(Permit(era: era, isProbe: false))
        case .open, .probing:
            if let refusal = refusal(at: now) { return .refused(refusal) }
            change(to: .probing)
            return .admitted(Permit(era: era, isProbe: true))
        }
    }

    /// Why a request may not be sent now; `nil` where it may.
    func refusal(at now: EngineInstant) -> Refusal? {
        switch phase {
        case .closed: nil
        case .open(let end): end > now ? refusal(.nanoseconds(end.nanoseconds(since: now))) : nil
        case .probing: refusal(nil)
        }
    }

    /// Tells what came of a request. Each permit is told about once.
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
        // A host that nobody has asked for, for as long as requests count, may be well again. Dead ones are many.
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
            // The next request is the one to see.
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
