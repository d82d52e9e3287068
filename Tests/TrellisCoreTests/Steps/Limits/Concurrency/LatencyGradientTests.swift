import Testing

@testable import TrellisCore

/// The estimate of a limit from latencies.
struct LatencyGradientTests {
    static let rules = ConcurrencyRules()

    /// Adds a round of equal latencies in milliseconds. Returns the new limit, rounded down; `nil` if the round has not ended.
    static func round(
        _ gradient: inout LatencyGradient, _ milliseconds: Int64, limit: Double = 16, isUsed: Bool = true,
        count: Int = 16
    ) -> Int? {
        var result: Double?
        for _ in 0..<count {
            result = gradient.add(milliseconds * 1_000_000, isNearLimit: isUsed, limit: limit, rules)
        }
        return result.map { Int($0) }
    }

    /// The first round of 16 requests takes 100 ms each. Then the limit grows by its square root, and shrinks with the ratio of the latencies
    /// beyond the tolerance of 125 ms, at most by half.
    @Test(arguments: [(50, 20), (100, 20), (125, 20), (160, 16), (250, 12), (10_000, 12)] as [(Int64, Int)])
    func theLimitFollowsTheLatency(_ milliseconds: Int64, _ expected: Int) {
        var gradient = LatencyGradient(tolerance: 1.25)
        #expect(Self.round(&gradient, 100) == 16)
        #expect(gradient.base == 100e6)
        #expect(Self.round(&gradient, milliseconds) == expected)
    }

    @Test func aRoundHasAsManyRequestsAsTheLimitAndAtLeastEight() {
        var gradient = LatencyGradient(tolerance: 1.25)
        #expect(Self.round(&gradient, 100, count: 15) == nil)
        #expect(Self.round(&gradient, 100, count: 1) == 16)
        #expect(Self.round(&gradient, 100, limit: 2, count: 7) == nil)
        #expect(Self.round(&gradient, 100, limit: 2, count: 1) == 3)
    }

    @Test func aRoundBelowTheLimitMovesTheBaseAndNotTheLimit() {
        var gradient = LatencyGradient(tolerance: 1.25)
        _ = Self.round(&gradient, 100)
        #expect(Self.round(&gradient, 180, isUsed: false) == 16)
        #expect(gradient.base == 110e6)
    }

    /// The base latency is measured with a quarter of the limit, which returns after it.
    @Test func theBaseIsMeasuredAgain() {
        var gradient = LatencyGradient(tolerance: 1.25)
        let limits = (0..<10).compactMap { _ in Self.round(&gradient, 100) }
        #expect(limits.contains(4))
        var other = LatencyGradient(tolerance: 1.25)
        var rounds = 0
        while Self.round(&other, 100) != 4, rounds < 100 { rounds += 1 }
        #expect(Self.round(&other, 300, limit: 4, count: 8) == 16)
        #expect(other.base == 300e6)
    }

    /// An overload during a measurement ends it. What the limit was before is the base of the reduction.
    @Test func anOverloadEndsAMeasurement() {
        var gradient = LatencyGradient(tolerance: 1.25)
        var rounds = 0
        while Self.round(&gradient, 100) != 4, rounds < 100 { rounds += 1 }
        #expect(gradient.interrupt() == 16)
        #expect(gradient.interrupt() == nil)
        #expect(gradient.base == 100e6)
    }

    /// A quarter of the limit may be below the minimum: then nothing is measured.
    @Test func theMinimumHoldsDuringAMeasurement() {
        var gradient = LatencyGradient(tolerance: 1.25)
        var rules = Self.rules
        rules.minimum = 10
        for _ in 0..<200 {
            if let limit = gradient.add(100_000_000, isNearLimit: true, limit: 16, rules) { #expect(limit >= 10) }
        }
    }
}
