import CurlEngine
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The tokens of a bucket, and the waiters that get them.
struct RateLimitQueueTests {
    typealias Queue = LimitQueue<Int, TokenBucket>

    static func queue(_ rate: Double, burst: Int = 1, maximumWait: Duration? = nil) -> Queue {
        Queue(TokenBucket(RateLimit(requestsPerSecond: rate, burst: burst, maximumWait: maximumWait)))
    }

    @Test func aBurstGoesOutAtOnceAndTheRestInTurn() {
        var queue = Self.queue(10, burst: 3)
        let entries = (0..<6).map { queue.enter($0, at: .at(.seconds(5))) }
        #expect(
            entries == [
                .admitted, .admitted, .admitted, .waiting(.milliseconds(100)), .waiting(.milliseconds(200)),
                .waiting(.milliseconds(300)),
            ])
        #expect(queue.nextTurn == .at(.milliseconds(5100)))
        #expect(queue.admit(at: .at(.milliseconds(5099))) == [])
        #expect(queue.admit(at: .at(.milliseconds(5100))) == [3])
        // A late timer does not slow the rate down.
        #expect(queue.admit(at: .at(.milliseconds(5350))) == [4, 5])
        #expect(queue.nextTurn == nil)
        #expect(queue.enter(6, at: .at(.milliseconds(5350))) == .waiting(.milliseconds(50)))
    }

    @Test func aTokenThatIsGivenBackIsThereForTheNext() {
        var queue = Self.queue(1, burst: 3)
        for id in 0..<3 { #expect(queue.enter(id, at: .at(.seconds(5))) == .admitted) }
        queue.limit.giveBack(1)
        #expect(queue.enter(3, at: .at(.seconds(5))) == .admitted)
        #expect(queue.enter(4, at: .at(.seconds(5))) == .waiting(.seconds(1)))
        queue.limit.giveBack(queue.lastToken)
        #expect(queue.nextTurn == .at(.seconds(5)))
        // A token that was never taken cannot be given back.
        queue.limit.giveBack(queue.lastToken + 1)
        queue.limit.giveBack(0)
        #expect(queue.admit(at: .at(.seconds(5))) == [4])
        #expect(queue.enterAtOnce(at: .at(.seconds(5))) == false)
    }

    /// Tokens that are given back never add to the rate: the remaining requests would get their tokens without the others too.
    @Test(arguments: 0..<200)
    func givingBackNeverAddsToTheRate(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var queue = Self.queue(1, burst: Int.random(in: 1...4, using: &random))
        let fresh = queue
        var now = 10.0
        var kept: [(token: Int, time: Double)] = []
        for _ in 0..<200 {
            now += Double.random(in: 0...0.8, using: &random)
            if Bool.random(using: &random), queue.enterAtOnce(at: .at(.seconds(now))) {
                kept.append((queue.lastToken, now))
            } else if Int.random(in: 0..<4, using: &random) == 0, let index = kept.indices.randomElement(using: &random)
            {
                queue.limit.giveBack(kept.remove(at: index).token)
            }
        }
        var model = fresh
        for (_, time) in kept {
            let isAdmitted = model.enterAtOnce(at: .at(.seconds(time)))
            #expect(isAdmitted)
        }
    }

    @Test func thePauseFillsTheBucketUpToTheBurst() {
        var queue = Self.queue(10, burst: 2)
        for id in 0..<2 { #expect(queue.enter(id, at: .at(.seconds(1))) == .admitted) }
        #expect(queue.enterAtOnce(at: .at(.seconds(1))) == false)
        #expect(queue.enterAtOnce(at: .at(.seconds(100))) == true)
        #expect(queue.enterAtOnce(at: .at(.seconds(100))) == true)
        #expect(queue.enterAtOnce(at: .at(.seconds(100))) == false)
        #expect(queue.enterAtOnce(at: .at(.milliseconds(100_100))) == true)
    }

    @Test func nobodyOvertakesTheQueue() {
        var queue = Self.queue(1)
        _ = queue.enter(0, at: .at(.zero))
        _ = queue.enter(1, at: .at(.zero))
        // The token of request 1 is there, but request 1 has not taken it yet.
        #expect(queue.enterAtOnce(at: .at(.milliseconds(1_500))) == false)
        #expect(queue.enter(2, at: .at(.milliseconds(1_500))) == .waiting(.milliseconds(500)))
        #expect(queue.admit(at: .at(.seconds(2))) == [1, 2])
    }

    @Test func whoGivesUpLeavesTheirPlaceToTheNext() {
        var queue = Self.queue(1)
        for id in 0..<5 { _ = queue.enter(id, at: .at(.zero)) }
        for id in [1, 3, 0, 99] { queue.leave(id) }
        #expect(queue.waitingCount == 2)
        #expect(queue.admit(at: .at(.seconds(1))) == [2])
        #expect(queue.admit(at: .at(.seconds(2))) == [4])
        #expect(queue.enter(5, at: .at(.seconds(2))) == .waiting(.seconds(1)))
    }

    @Test func aCrowdThatGivesUpLeavesNothingBehind() {
        var queue = Self.queue(10)
        for id in 0..<10_000 { _ = queue.enter(id, at: .at(.zero)) }
        for id in 0..<10_000 { queue.leave(id) }
        #expect(queue.nextTurn == nil)
        #expect(queue.enter(0, at: .at(.zero)) == .waiting(.milliseconds(100)))
        queue.leave(0)
        #expect(queue.isForgettable(at: .at(.milliseconds(100))) == true)
        #expect(queue.isForgettable(at: .at(.milliseconds(99))) == false)
    }

    @Test func whoWouldWaitTooLongIsRefused() {
        var queue = Self.queue(1, maximumWait: .seconds(2))
        let entries = (0..<5).map { queue.enter($0, at: .at(.zero)) }
        #expect(
            entries == [
                .admitted, .waiting(.seconds(1)), .waiting(.seconds(2)), .refused(.seconds(3)), .refused(.seconds(3)),
            ])
        #expect(queue.waitingCount == 2)
        queue.leave(1)
        #expect(queue.enter(5, at: .at(.zero)) == .waiting(.seconds(2)))
    }

    @Test(arguments: 0..<UInt64(Scale.count(6, all: 20)))
    func theRateHoldsWhateverHappens(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var queue = Self.queue(10, burst: 3)
        var now = 0
        var admitted: [(id: Int, time: Int)] = []
        var waiting: [Int] = []
        for id in 0..<2000 {
            now += Int.random(in: 0...150, using: &random)
            let instant = EngineInstant.at(.milliseconds(now))
            for next in queue.admit(at: instant) {
                #expect(next == waiting.first)
                waiting.removeAll { $0 == next }
                admitted.append((next, now))
            }
            switch queue.enter(id, at: instant) {
            case .admitted: admitted.append((id, now))
            case .waiting: waiting.append(id)
            case .refused: Issue.record("refused")
            }
            if Int.random(in: 0..<4, using: &random) == 0, let leaver = waiting.randomElement(using: &random) {
                queue.leave(leaver)
                waiting.removeAll { $0 == leaver }
            }
            #expect(queue.waitingCount == waiting.count)
        }
        // Every span admits at most the burst and the earned tokens, but for the delay of the queue's checks.
        let crowded = admitted.indices.filter { index in
            zip(1..., admitted[index...].prefix(50)).contains { count, last in
                count > 3 + (last.time - admitted[index].time + 150) / 100 + 1
            }
        }
        #expect(crowded == [])
    }

    @Test(arguments: [0, -1, .nan, .infinity, 1e300, 1e-300] as [Double])
    func ratesWithoutSenseDoNoHarm(_ rate: Double) {
        var queue = Self.queue(rate, burst: .max)
        #expect(queue.enter(0, at: .at(.zero)) == .admitted)
        var small = Self.queue(rate, burst: -5)
        #expect(small.enter(0, at: .at(.seconds(1))) == .admitted)
        _ = small.enter(1, at: .at(.seconds(1)))
        _ = small.admit(at: .at(.seconds(Int64.max)))
        #expect(small.waitingCount == 0)
    }
}
