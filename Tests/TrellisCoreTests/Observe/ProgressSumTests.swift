import CurlEngine
import Testing
import TrellisTesting

@testable import TrellisCore

/// The progress of several transfers together.
@Suite(.timeLimit(.minutes(3)))
struct ProgressSumTests {
    private let clock = TestClock()
    private let first: ProgressBroadcaster
    private let second: ProgressBroadcaster
    private let sum: ProgressSum

    init() {
        first = ProgressBroadcaster(clock: clock.engineSide)
        second = ProgressBroadcaster(clock: clock.engineSide)
        sum = ProgressSum(of: [first, second, first], clock: clock.engineSide)
    }

    @Test func bytesAreAddedAndATransferThatIsListedTwiceCountsOnce() {
        first.advance(by: 3)
        #expect(sum.current.completedBytes == 3)
        first.advance(by: 4)
        second.advance(by: 10)
        #expect(sum.current.completedBytes == 17)
    }

    @Test func theTotalIsKnownWhereEveryTotalIs() {
        first.expect(10)
        #expect(sum.current.totalBytes == nil)
        second.expect(30)
        #expect(sum.current.totalBytes == 40)
        second.expect(nil)
        #expect(sum.current.totalBytes == nil)
    }

    @Test func aTransferThatHasEndedCountsWithItsBytes() {
        #expect(sum.current.totalBytes == nil)
        first.expect(10)
        first.advance(by: 4)
        first.finish()
        second.advance(by: 5)
        second.finish()
        #expect(sum.current.completedBytes == 9 && sum.current.fraction == 1)
    }

    @Test func bytesThatWereThereBeforeAreNoSpeed() {
        #expect(sum.current.completedBytes == 0)
        first.jump(to: 1_000_000)
        first.advance(by: 1000)
        clock.move(by: .seconds(1))
        first.advance(by: 1000)
        #expect(sum.current.completedBytes == 1_002_000)
        #expect(sum.current.bytesPerSecond == 1000)
    }

    @Test func aTransferThatBeginsAnewTakesItsBytesBack() {
        first.advance(by: 100)
        second.advance(by: 1)
        #expect(sum.current.completedBytes == 101)
        first.jump(to: 0)
        #expect(sum.current.completedBytes == 1)
    }

    /// The sums stay bounded for any size that servers may announce.
    @Test func numbersAreBounded() {
        for transfer in [first, second] {
            transfer.expect(.max)
            transfer.jump(to: .max)
        }
        #expect(sum.current.totalBytes == .max && sum.current.completedBytes == .max)
        first.jump(to: 5)
        second.jump(to: 6)
        #expect(sum.current.completedBytes == 11)
    }

    @Test func readersGetTheLastValueAndThenTheEnd() async {
        let reading = Task { [values = sum.values] in
            var last: TransferProgress?
            for await progress in values { last = progress }
            return last
        }
        first.advance(by: 2)
        second.advance(by: 3)
        first.finish()
        second.finish()
        let last = await reading.value
        #expect(last?.completedBytes == 5 && last?.totalBytes == 5)
    }

    @Test func aSumOfNothingEndsAtOnce() async {
        let sum = ProgressSum(of: [], clock: clock.engineSide)
        var seen: [Int64] = []
        for await progress in sum.values { seen.append(progress.completedBytes) }
        #expect(seen == [0])
    }
}
