import CurlEngine
import Testing

@testable import TrellisCore

/// The concurrency limit of one host.
struct ConcurrencyLimitTests {
    static func limit(
        _ algorithm: AdaptiveConcurrency.Algorithm = .aimd, _ change: (inout ConcurrencyRules) -> Void = { _ in }
    ) -> ConcurrencyLimit {
        var rules = ConcurrencyRules(algorithm: algorithm, initial: 10)
        change(&rules)
        return ConcurrencyLimit(rules.bounded)
    }

    /// Sends this number of requests at once.
    static func send(_ count: Int, in limit: inout ConcurrencyLimit, at second: Double = 0) -> [ConcurrencyLimit.Sent] {
        (0..<count).map { _ in
            limit.take(at: .at(.seconds(second)))
            return limit.send()
        }
    }

    /// Ends requests with one outcome. Returns the reductions of the limit.
    @discardableResult
    static func end(
        _ sent: [ConcurrencyLimit.Sent], _ outcome: ConcurrencyLimit.Outcome, in limit: inout ConcurrencyLimit,
        at second: Double = 0
    ) -> [ConcurrencyLimit.Reduction] {
        sent.compactMap {
            let reduction = limit.end($0, outcome, at: .at(.seconds(second)))
            limit.leave(wasSent: true)
            return reduction
        }
    }

    static let outcomes: [(ConcurrencyLimit.Outcome, Int)] = [
        (.success(latency: 1_000_000), 11), (.success(latency: nil), 11), (.overload(pause: nil), 8), (.neutral, 10),
    ]

    /// As many answers as the limit add one request, and the overload of all takes a fifth.
    @Test(arguments: outcomes)
    func anOutcomeChangesTheLimit(_ outcome: ConcurrencyLimit.Outcome, _ expected: Int) {
        var limit = Self.limit()
        // Of ten requests that are sent one after the other, the last three are sent near the limit.
        for _ in 0..<(outcome == .overload(pause: nil) ? 1 : 4) {
            Self.end(Self.send(10, in: &limit), outcome, in: &limit)
        }
        #expect(limit.limit == expected)
        #expect(limit.inFlightCount == 0)
    }

    @Test func anOverloadIsToldOnce() {
        var limit = Self.limit()
        let sent = Self.send(10, in: &limit)
        let reductions = Self.end(sent, .overload(pause: nil), in: &limit)
        #expect(reductions == [ConcurrencyLimit.Reduction(limit: 8, pause: nil)])
        // A request that is sent with the new limit, and overloads the host again, reduces it again.
        #expect(Self.end(Self.send(1, in: &limit), .overload(pause: nil), in: &limit).map(\.limit) == [6])
    }

    /// What was sent before an overload does not make up for it.
    @Test func successesFromBeforeAnOverloadDoNotCount() {
        var limit = Self.limit()
        let sent = Self.send(10, in: &limit)
        Self.end(Array(sent.prefix(1)), .overload(pause: nil), in: &limit)
        Self.end(Array(sent.dropFirst()), .success(latency: nil), in: &limit)
        #expect(limit.limit == 8)
    }

    @Test(arguments: [(1, 10), (7, 10), (8, 11), (9, 13)])
    func onlyRequestsNearTheLimitRaiseIt(_ count: Int, _ expected: Int) {
        var limit = Self.limit()
        for _ in 0..<100 { Self.end(Self.send(count, in: &limit), .success(latency: nil), in: &limit) }
        #expect(limit.limit == expected)
    }

    @Test func theBoundsHold() {
        var limit = Self.limit { ($0.minimum, $0.maximum) = (4, 12) }
        for _ in 0..<100 { Self.end(Self.send(limit.limit, in: &limit), .success(latency: nil), in: &limit) }
        #expect(limit.limit == 12)
        for _ in 0..<100 { Self.end(Self.send(1, in: &limit), .overload(pause: nil), in: &limit) }
        #expect(limit.limit == 4)
    }

    @Test(
        arguments: [
            ([0, 0, 0], [1, 1, 1]), ([-1, .max, .min], [1, 1_000_000, 1]), ([5, 2, 9], [5, 5, 5]),
            ([.max, 1, 1], [1_000_000, 1_000_000, 1_000_000]),
        ] as [([Int], [Int])])
    func extremeBoundsHaveAMeaning(_ given: [Int], _ used: [Int]) {
        let rules = ConcurrencyRules(minimum: given[0], maximum: given[1], initial: given[2]).bounded
        #expect([rules.minimum, rules.maximum, rules.initial] == used)
    }

    @Test func aPauseHoldsUntilItsEndAndNoLonger() {
        var limit = Self.limit { $0.maximumPause = .seconds(60) }
        let sent = Self.send(3, in: &limit)
        let pause = ConcurrencyLimit.Outcome.overload(pause: .seconds(5))
        #expect(
            Self.end([sent[0]], pause, in: &limit, at: 10)
                == [ConcurrencyLimit.Reduction(limit: 8, pause: .seconds(5))])
        #expect(limit.turn(behind: 0) == .at(.seconds(15)))
        // A shorter one ends no longer one, and a later one is no further event.
        #expect(Self.end([sent[1]], .overload(pause: .seconds(1)), in: &limit, at: 11) == [])
        #expect(limit.turn(behind: 0) == .at(.seconds(15)))
        #expect(Self.end([sent[2]], .overload(pause: .seconds(1_000_000)), in: &limit, at: 12) == [])
        #expect(limit.turn(behind: 0) == .at(.seconds(72)))
    }

    @Test func oneRequestMayAlwaysBeSentWhileTheOthersStream() {
        var limit = Self.limit { $0.initial = 2 }
        let sent = Self.send(2, in: &limit)
        #expect(!limit.hasRoom)
        _ = limit.end(sent[0], .success(latency: nil), at: .at(.seconds(0)))
        #expect(!limit.hasRoom)
        _ = limit.end(sent[1], .success(latency: nil), at: .at(.seconds(0)))
        #expect(limit.hasRoom && limit.inFlightCount == 2)
        _ = Self.send(1, in: &limit)
        #expect(!limit.hasRoom)
    }

    /// A request that ends while it waits for a connection proves nothing.
    @Test func aRequestThatWasNotSentChangesNothing() {
        var limit = Self.limit()
        limit.take(at: .at(.seconds(0)))
        #expect(limit.end(nil, .overload(pause: .seconds(9)), at: .at(.seconds(0))) == nil)
        limit.leave(wasSent: false)
        #expect(limit.limit == 10 && limit.inFlightCount == 0 && limit.turn(behind: 0) == .at(.seconds(0)))
    }

    @Test func aHostIsForgottenWhenNothingIsKnownOrNobodyHasAskedForLong() {
        var limit = Self.limit()
        #expect(limit.isForgettable(at: .at(.seconds(0))))
        let sent = Self.send(1, in: &limit)
        #expect(!limit.isForgettable(at: .at(.seconds(1000))))
        Self.end(sent, .overload(pause: .seconds(60)), in: &limit, at: 10)
        #expect(!limit.isForgettable(at: .at(.seconds(69))))
        #expect(limit.isForgettable(at: .at(.seconds(70))))
        Self.end(Self.send(1, in: &limit), .overload(pause: nil), in: &limit, at: 100)
        #expect(!limit.isForgettable(at: .at(.seconds(159))))
        #expect(limit.isForgettable(at: .at(.seconds(160))))
    }
}
