import CurlEngine
import Testing

@testable import TrellisCore

/// The share of a bandwidth limit, and the members that may transfer next.
struct BandwidthShareTests {
    /// Returns a share of 1,000 bytes a second in quanta of 50, with a burst of 100, at second 10.
    private static func share(_ limit: BandwidthLimit = BandwidthLimit(bytesPerSecond: 1000)) -> Bucket {
        Bucket(limit)
    }

    private static func instant(_ milliseconds: Int) -> EngineInstant {
        EngineInstant(nanoseconds: 10_000_000_000 + UInt64(milliseconds) * 1_000_000)
    }

    /// A reference to the share, which an expectation can change.
    private final class Bucket {
        private var share: BandwidthShare<Int>

        init(_ limit: BandwidthLimit) { share = BandwidthShare(limit, at: instant(0)) }

        func join(_ member: Int, at now: EngineInstant) -> Bool { share.join(member, at: now) }
        func spend(_ count: Int, by member: Int, at now: EngineInstant) -> Bool {
            share.spend(count, by: member, at: now)
        }
        func leave(_ member: Int) { share.leave(member) }
        func grants(at now: EngineInstant) -> [Int] { share.grants(at: now) }
        var nextGrant: EngineInstant? { share.nextGrant }
        var comparisons: Int { share.comparisons }
    }

    struct Limit: Sendable {
        let rate: Int
        let burst: Int?
        let quantum: Int
    }

    @Test(arguments: [
        Limit(rate: 1000, burst: nil, quantum: 50), Limit(rate: 1000, burst: 20, quantum: 20),
        Limit(rate: 1, burst: nil, quantum: 1), Limit(rate: 0, burst: 0, quantum: 1),
        Limit(rate: -5, burst: -5, quantum: 1),
        Limit(rate: 1_000_000_000, burst: nil, quantum: 256 << 10), Limit(rate: 10, burst: 1000, quantum: 1),
    ])
    func quantumOfALimit(_ row: Limit) {
        #expect(BandwidthLimit(bytesPerSecond: row.rate, burst: row.burst).quantum == row.quantum)
    }

    @Test func aBurstGoesAtOnceAndTheRestAtItsTime() {
        let share = Self.share()
        #expect(share.join(1, at: Self.instant(0)))
        #expect(share.join(2, at: Self.instant(0)))
        #expect(!share.join(3, at: Self.instant(0)), "the burst is two quanta")
        #expect(share.nextGrant == Self.instant(50))
        #expect(share.grants(at: Self.instant(49)) == [])
        #expect(share.grants(at: Self.instant(50)) == [3])
        #expect(share.nextGrant == nil, "nobody waits")
    }

    @Test func whatIsGrantedIsUsedBeforeTheNextTurn() {
        let share = Self.share()
        #expect(share.join(1, at: Self.instant(0)))
        #expect(share.spend(20, by: 1, at: Self.instant(0)))
        #expect(share.spend(29, by: 1, at: Self.instant(0)))
        #expect(!share.spend(1, by: 1, at: Self.instant(0)))
        #expect(share.nextGrant == Self.instant(0), "half of the burst is left")
        #expect(share.grants(at: Self.instant(0)) == [1])
    }

    @Test func whatIsMovedBeyondTheGrantIsPaidFor() {
        let share = Self.share()
        #expect(share.join(1, at: Self.instant(0)))
        #expect(!share.spend(1050, by: 1, at: Self.instant(0)))
        // 1,050 bytes are spent; the limit still has to earn 950 of them, and 50 for the next turn.
        #expect(share.nextGrant == Self.instant(1000))
    }

    @Test func aLongRestBringsNoMoreThanABurst() {
        let share = Self.share()
        #expect(share.join(1, at: Self.instant(0)))
        #expect(!share.spend(50, by: 1, at: Self.instant(60_000)))
        #expect(share.grants(at: Self.instant(60_000)) == [1])
        #expect(!share.spend(50, by: 1, at: Self.instant(60_000)))
        #expect(share.grants(at: Self.instant(60_000)) == [1])
        #expect(!share.spend(50, by: 1, at: Self.instant(60_000)))
        #expect(share.grants(at: Self.instant(60_000)) == [])
        #expect(share.nextGrant == Self.instant(60_050))
    }

    @Test func whatWasGrantedAndNotUsedIsThereForTheOthers() {
        let share = Self.share()
        #expect(share.join(1, at: Self.instant(0)))
        #expect(share.join(2, at: Self.instant(0)))
        #expect(!share.join(3, at: Self.instant(0)))
        share.leave(1)
        #expect(share.grants(at: Self.instant(0)) == [3])
    }

    @Test func whoLeavesWhileWaitingIsNotNamed() {
        let share = Self.share()
        for member in 1...4 { _ = share.join(member, at: Self.instant(0)) }
        share.leave(3)
        share.leave(3)
        #expect(share.grants(at: Self.instant(1000)) == [4])
        #expect(share.spend(50, by: 3, at: Self.instant(1000)), "who is no member is not limited")
    }

    @Test func aBurstOfManyShortTransfersKeepsToTheLimit() {
        let share = Self.share()
        var now = 0
        var moved = 0
        for member in 0..<1000 {
            if !share.join(member, at: Self.instant(now)) {
                while share.grants(at: Self.instant(now)).isEmpty { now += 1 }
            }
            _ = share.spend(10, by: member, at: Self.instant(now))
            moved += 10
            share.leave(member)
        }
        #expect(moved - 100 <= now && now <= moved, "\(moved) bytes in \(now) ms")
    }

    struct Mix: Sendable, CustomTestStringConvertible {
        /// The number of bytes that each member transfers at once.
        let pieces: [Int]
        var testDescription: String { "\(pieces)" }
    }

    /// All members always have bytes to transfer.
    @Test(arguments: [
        Mix(pieces: [50, 50]), Mix(pieces: [10, 50, 50, 50]), Mix(pieces: [1, 400]), Mix(pieces: [16, 16, 160, 1600]),
        Mix(pieces: [50]), Mix(pieces: Array(repeating: 33, count: 40)),
    ])
    func membersShareFairlyWhateverTheirPieces(_ mix: Mix) {
        let share = Self.share()
        var going = Set<Int>()
        var moved = Array(repeating: 0, count: mix.pieces.count)
        for member in mix.pieces.indices where share.join(member, at: Self.instant(0)) { going.insert(member) }
        let end = 100_000
        for now in 0...end {
            going.formUnion(share.grants(at: Self.instant(now)))
            for member in going.sorted() {
                moved[member] += mix.pieces[member]
                if !share.spend(mix.pieces[member], by: member, at: Self.instant(now)) { going.remove(member) }
            }
        }
        let total = moved.reduce(0, +)
        let largest = mix.pieces.max() ?? 0
        #expect(
            abs(total - end) <= 100 + mix.pieces.reduce(0, +) + 50 * mix.pieces.count, "\(total) bytes in \(end) ms")
        let (least, most) = (moved.min() ?? 0, moved.max() ?? 0)
        #expect(most - least <= 2 * (largest + 50), "\(moved)")
    }

    /// The share that a member cannot use goes to the others, and gives the member no claim later.
    @Test func whoRestsLosesNothingAndGainsNothing() {
        let share = Self.share()
        #expect(share.join(0, at: Self.instant(0)))
        #expect(share.join(1, at: Self.instant(0)))
        var moved = [0, 0]
        var going: Set = [0, 1]
        func run(_ times: Range<Int>, resting: Bool) {
            for now in times {
                going.formUnion(share.grants(at: Self.instant(now)))
                for member in going.sorted() where member == 0 || !resting {
                    moved[member] += 10
                    if !share.spend(10, by: member, at: Self.instant(now)) { going.remove(member) }
                }
            }
        }
        run(0..<10_000, resting: true)
        #expect(moved[1] == 0)
        #expect(abs(moved[0] - 10_000) <= 150, "the one that moves has all of it: \(moved)")
        moved = [0, 0]
        run(10_000..<20_000, resting: false)
        #expect(abs(moved[0] - moved[1]) <= 120, "\(moved)")
    }

    @Test func whoComesLaterHasNoClaimToWhatWasBefore() {
        let share = Self.share()
        #expect(share.join(0, at: Self.instant(0)))
        for now in 0..<10_000 {
            if !share.spend(1, by: 0, at: Self.instant(now)) { _ = share.grants(at: Self.instant(now)) }
        }
        var moved = [0, 0]
        var going = Set([0])
        if share.join(1, at: Self.instant(10_000)) { going.insert(1) }
        for now in 10_000..<20_000 {
            going.formUnion(share.grants(at: Self.instant(now)))
            for member in going.sorted() {
                moved[member] += 10
                if !share.spend(10, by: member, at: Self.instant(now)) { going.remove(member) }
            }
        }
        #expect(abs(moved[0] - moved[1]) <= 200, "\(moved)")
    }

    @Test func hugeNumbersDoNotOverflow() {
        let share = Self.share(BandwidthLimit(bytesPerSecond: 1))
        _ = share.join(1, at: Self.instant(0))
        #expect(!share.spend(.max, by: 1, at: Self.instant(0)))
        #expect(share.nextGrant == EngineInstant(nanoseconds: .max))
        let fast = Self.share(BandwidthLimit(bytesPerSecond: .max, burst: .max))
        #expect(fast.join(1, at: Self.instant(0)))
        _ = fast.spend(1 << 40, by: 1, at: Self.instant(0))
        #expect(fast.grants(at: Self.instant(1000)) == [1])
    }

    /// The timer of a turn and a new transfer may come in any order.
    @Test func whoseTurnHasComeWhenAnotherJoinsIsNotForgotten() {
        let share = Self.share()
        for member in 1...3 { _ = share.join(member, at: Self.instant(0)) }
        #expect(!share.join(4, at: Self.instant(50)), "3 waits for longer")
        #expect(share.grants(at: Self.instant(50)) == [3])
        #expect(share.grants(at: Self.instant(100)) == [4])
    }

    @Test func aTurnIsCheapHoweverManyWait() {
        let share = Self.share()
        for member in 0..<10_000 { _ = share.join(member, at: Self.instant(0)) }
        var most = 0
        func cost(_ body: () -> Void) {
            let before = share.comparisons
            body()
            most = max(most, share.comparisons - before)
        }
        cost { _ = share.join(10_000, at: Self.instant(0)) }
        cost { _ = share.spend(50, by: 0, at: Self.instant(0)) }
        cost { #expect(share.grants(at: Self.instant(50)) == [2]) }
        cost { share.leave(7000) }
        #expect(most <= 90, "three ways through a heap, of fourteen steps with two comparisons each")
    }
}
