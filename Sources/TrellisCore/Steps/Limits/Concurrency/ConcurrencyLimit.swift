import CurlEngine

/// The adaptive limit on the requests that one host has at a time, as a value.
///
/// A request that is sent near the limit may raise the limit, whatever else has held it up: a limit that is not reached is not known to be
/// good. What is learned about an earlier limit counts no more: after each reduction, and after each round of a gradient, only
/// requests count that are sent later. So the failures of one overload reduce the limit once.
struct ConcurrencyLimit: HostLimit {
    /// What the end of a request says about its host.
    enum Outcome: Hashable, Sendable {
        /// The host has answered after this time, in nanoseconds; `nil` if it was not measured.
        case success(latency: Int64?)
        /// The host has more requests than it can answer, and may have asked its clients to stay away for a time.
        case overload(pause: Duration?)
        /// The request says nothing about the host's load.
        case neutral
    }

    /// A request that was sent.
    struct Sent: Hashable, Sendable {
        /// The number of the request among those that were sent, from 1.
        fileprivate(set) var number: Int
        /// Whether the request was sent near the limit.
        fileprivate(set) var isNearLimit: Bool
    }

    /// A reduction of the limit, because the host has too many requests.
    struct Reduction: Hashable, Sendable {
        let limit: Int
        /// The time for which the host gets no request, if it has asked for that.
        let pause: Duration?
    }

    /// The share of the limit from which on a request is near it.
    private static let nearness = 0.75
    /// The time for which the limit of a host without requests is known, if there are many hosts.
    private static let memory = Duration.seconds(60)

    private let rules: ConcurrencyRules
    /// The limit with its fraction, which small steps add up to.
    private var value: Double
    private var gradient: LatencyGradient?
    /// The number of requests that were admitted and have not ended.
    private(set) var inFlightCount = 0
    /// The number of these that have no response yet.
    private var pendingCount = 0
    /// The number of requests that are on the wire.
    private var wireCount = 0
    /// The number of requests that were sent.
    private var sentCount = 0
    /// The number of the last request that was sent before the present limit was set.
    private var lastOfEarlierLimit = 0
    /// The number of requests that were admitted.
    private(set) var lastToken = 0
    /// The instant until which the host gets no requests.
    private var pauseEnd = EngineInstant(nanoseconds: 0)
    /// The instant of the last outcome.
    private var lastEnd = EngineInstant(nanoseconds: 0)

    init(_ rules: ConcurrencyRules) {
        self.rules = rules
        value = Double(rules.initial)
        if case .gradient(let tolerance) = rules.algorithm { gradient = LatencyGradient(tolerance: tolerance) }
    }

    /// The number of requests that the host may have at a time.
    var limit: Int { Int(value) }

    /// The latency in nanoseconds that a gradient holds for the host's without load; `nil` if it is not known.
    var baseLatency: Double? { gradient?.base }

    /// Whether a request may be sent, apart from a pause. One may always be sent when all others have their heads: long streams keep
    /// no request from being sent.
    var hasRoom: Bool { inFlightCount < limit || pendingCount == 0 }

    var maximumWait: UInt64? { nil }

    func turn(behind count: Int) -> EngineInstant { pauseEnd }

    func isForgettable(at now: EngineInstant) -> Bool {
        guard inFlightCount == 0, pauseEnd <= now else { return false }
        let hasLearned = value != Double(rules.initial) || baseLatency != nil
        return !hasLearned || lastEnd.advanced(by: Self.memory) <= now
    }

    // MARK: A request

    mutating func take(at now: EngineInstant) {
        lastToken += 1
        inFlightCount += 1
        pendingCount += 1
    }

    /// Records that a request that was admitted is sent. One that waits for a connection is not on the wire, and proves nothing.
    mutating func send() -> Sent {
        wireCount += 1
        sentCount += 1
        return Sent(number: sentCount, isNearLimit: Double(wireCount) >= Double(limit) * Self.nearness)
    }

    /// Learns the outcome of a request that was admitted: its response's head, or its error. Returns the reduction of the limit, if there
    /// is one.
    ///
    /// - Parameter sent: The request as it was sent; `nil` if it was not.
    mutating func end(_ sent: Sent?, _ outcome: Outcome, at now: EngineInstant) -> Reduction? {
        pendingCount -= 1
        lastEnd = max(lastEnd, now)
        guard let sent else { return nil }
        switch outcome {
        case .neutral: return nil
        case .success(let latency):
            if sent.number > lastOfEarlierLimit { succeed(sent, latency) }
            return nil
        case .overload(let pause):
            let (isNew, wasPaused) = (sent.number > lastOfEarlierLimit, pauseEnd > now)
            if isNew { reduce() }
            self.pause(for: pause, at: now)
            let isPaused = pauseEnd > now
            guard isNew || isPaused && !wasPaused else { return nil }
            return Reduction(limit: limit, pause: isPaused ? .nanoseconds(pauseEnd.nanoseconds(since: now)) : nil)
        }
    }

    /// Records that a request that was admitted is no longer in flight.
    ///
    /// - Parameter wasSent: Whether it was sent.
    mutating func leave(wasSent: Bool) {
        inFlightCount -= 1
        if wasSent { wireCount -= 1 }
    }

    // MARK: The limit

    private mutating func succeed(_ sent: Sent, _ latency: Int64?) {
        if gradient != nil {
            guard let latency, latency > 0 else { return }
            guard let next = gradient?.add(latency, isNearLimit: sent.isNearLimit, limit: value, rules) else { return }
            set(next)
        } else if sent.isNearLimit {
            // One more after a round in which all requests have succeeded.
            value = min(value + 1 / value, Double(rules.maximum))
        }
    }

    private mutating func reduce() {
        let before = gradient?.interrupt() ?? value
        set(min(before * rules.reduction, value))
    }

    private mutating func set(_ next: Double) {
        value = min(max(next, Double(rules.minimum)), Double(rules.maximum))
        lastOfEarlierLimit = sentCount
    }

    /// Sends the host nothing for a time, if that ends later than the present pause.
    private mutating func pause(for time: Duration?, at now: EngineInstant) {
        guard let time else { return }
        pauseEnd = max(pauseEnd, now.advanced(by: min(time, rules.maximumPause)))
    }
}

/// The rules for the change of a concurrency limit.
struct ConcurrencyRules: Sendable, Hashable {
    var algorithm = AdaptiveConcurrency.Algorithm.aimd
    var minimum = 1
    var maximum = 200
    var initial = 20
    var maximumPause = Duration.seconds(60)
    /// The factor by which an overload reduces the limit.
    var reduction = 0.8

    /// The rules with bounds that have a meaning: one request at least, and none of the bounds beyond another.
    var bounded: ConcurrencyRules {
        var rules = self
        rules.minimum = min(max(minimum, 1), Self.largest)
        rules.maximum = min(max(maximum, rules.minimum), Self.largest)
        rules.initial = min(max(initial, rules.minimum), rules.maximum)
        return rules
    }

    /// The largest limit, far beyond what a process can have.
    private static let largest = 1_000_000
}
