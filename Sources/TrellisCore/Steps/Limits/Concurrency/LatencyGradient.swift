/// The estimate of a concurrency limit from latencies, as a value: the limit shrinks as latencies grow over the base latency, which a
/// host has without load.
///
/// A round is as many requests as the limit, so that the mean of more of them, which varies less, decides about more of them. The base
/// latency is measured again and again: for one round, the limit is half, so that a queue at the host empties.
struct LatencyGradient: Sendable, Hashable {
    /// The least number of requests of a round.
    static let leastRound = 8
    /// The number of rounds between two measurements of the base latency.
    static let roundsPerMeasurement = 50
    /// The share of the limit during a measurement.
    static let measuringShare = 0.25
    /// The number of rounds before the second measurement: the first may have found the host under load.
    private static let firstRounds = 5

    /// The factor over the base latency up to which a latency is no sign of load.
    private let tolerance: Double
    /// The latency without load, in nanoseconds; `nil` until the first round has ended.
    private(set) var base: Double?
    private var sum = 0.0
    private var count = 0
    private var nearCount = 0
    private var roundsLeft = firstRounds
    /// The limit after the measurement that is under way; `nil` if none is.
    private var suspended: Double?

    init(tolerance: Double) { self.tolerance = max(tolerance, 1) }

    /// Adds the latency of a request. Returns the new limit at the end of a round; `nil` before.
    mutating func add(
        _ latency: Int64, isNearLimit: Bool, limit: Double, _ rules: ConcurrencyRules
    ) -> Double? {
        sum += Double(latency)
        count += 1
        if isNearLimit { nearCount += 1 }
        guard count >= max(Int(limit), Self.leastRound) else { return nil }
        let (mean, isUsed) = (sum / Double(count), nearCount * 2 >= count)
        startRound()
        if let suspended {
            self.suspended = nil
            base = mean
            return suspended
        }
        guard let base else {
            base = mean
            return limit
        }
        guard isUsed else {
            // A host with few requests shows its latency without load.
            self.base = base + (mean - base) / 8
            return limit
        }
        roundsLeft -= 1
        if roundsLeft <= 0, limit >= 2, limit * Self.measuringShare >= Double(rules.minimum) {
            roundsLeft = Self.roundsPerMeasurement
            suspended = limit
            return limit * Self.measuringShare
        }
        if limit < 2 { self.base = base + (mean - base) / 8 }
        let ratio = min(max(base * tolerance / mean, 0.5), 1)
        return limit * ratio + limit.squareRoot()
    }

    /// Ends the round and the measurement. Returns the limit without the measurement, if there was one.
    mutating func interrupt() -> Double? {
        startRound()
        defer { suspended = nil }
        return suspended
    }

    private mutating func startRound() { (sum, count, nearCount) = (0, 0, 0) }
}
