import CurlEngine
import Testing
import TrellisTesting

@testable import TrellisCore

/// An observer of progress.
private actor Reader {
    private var iterator: TransferProgressSequence.Iterator

    init(_ broadcaster: ProgressBroadcaster) { iterator = broadcaster.values.makeAsyncIterator() }

    func next() async -> TransferProgress? {
        var copy = iterator
        defer { iterator = copy }
        return await copy.next()
    }
}

/// The values that the observers of a transfer receive.
@Suite(.timeLimit(.minutes(3)))
struct ProgressBroadcasterTests {
    private let clock = TestClock()
    private let broadcaster: ProgressBroadcaster

    init() { broadcaster = ProgressBroadcaster(clock: clock.engineSide, total: 100) }

    private func advance(_ count: Int) {
        clock.move(by: .milliseconds(100))
        broadcaster.advance(by: count)
    }

    @Test func aReaderGetsThePresentThenTheNewsThenTheEnd() async {
        let reader = Reader(broadcaster)
        #expect(await reader.next()?.completedBytes == 0)
        advance(10)
        #expect(await reader.next()?.completedBytes == 10)
        async let next = reader.next()?.completedBytes
        advance(20)
        #expect(await next == 30)
        broadcaster.finish()
        #expect(await reader.next()?.completedBytes == 30)
        #expect(await reader.next() == nil)
        #expect(await reader.next() == nil)
    }

    @Test func aSlowReaderGetsTheLatestAlone() async {
        let reader = Reader(broadcaster)
        _ = await reader.next()
        for _ in 0..<10 { advance(5) }
        #expect(await reader.next()?.completedBytes == 50)
        broadcaster.finish()
        #expect(await reader.next()?.completedBytes == 50)
        #expect(await reader.next() == nil)
    }

    /// The value before was not reported, as too little time had passed.
    @Test func theLastValueIsAlwaysTold() async {
        broadcaster.advance(by: 99)
        broadcaster.advance(by: 1)
        let reader = Reader(broadcaster)
        #expect(await reader.next()?.completedBytes == 99)
        #expect(broadcaster.current.completedBytes == 100)
        broadcaster.finish()
        #expect(await reader.next()?.fraction == 1)
    }

    /// The last progress before a pause is reported without waiting for further bytes.
    @Test func aStandstillIsTold() async {
        let reader = Reader(broadcaster)
        broadcaster.advance(by: 1)
        #expect(await reader.next()?.completedBytes == 1)
        broadcaster.advance(by: 2)
        #expect(await reader.next()?.completedBytes == 3)
        async let next = reader.next()?.completedBytes
        broadcaster.advance(by: 3)
        #expect(await next == 6)
    }

    @Test func anyNumberOfReaders() async {
        let counts = await withTaskGroup(of: Int64?.self) { group in
            for _ in 0..<50 {
                group.addTask { [values = broadcaster.values] in
                    var last: Int64?
                    for await progress in values { last = progress.completedBytes }
                    return last
                }
            }
            for _ in 0..<20 { advance(5) }
            broadcaster.finish()
            var counts: [Int64?] = []
            for await count in group { counts.append(count) }
            return counts
        }
        #expect(counts == Array(repeating: 100, count: 50))
    }

    @Test func whoComesLateGetsTheLastValue() async {
        advance(100)
        broadcaster.finish()
        broadcaster.advance(by: 5)
        var seen: [Int64] = []
        for await progress in broadcaster.values { seen.append(progress.completedBytes) }
        #expect(seen == [100])
    }

    @Test func aCancelledReaderLeaves() async {
        let hasBegun = LoopbackServer.Gate()
        let task = Task { [values = broadcaster.values] in
            for await _ in values { hasBegun.open() }
        }
        try? await hasBegun.opened()
        task.cancel()
        await task.value
    }

    @Test func jumpsAndTotalsAreToldAtOnce() async {
        let reader = Reader(broadcaster)
        broadcaster.jump(to: 40)
        #expect(await reader.next()?.completedBytes == 40)
        broadcaster.expect(80)
        #expect(await reader.next()?.fraction == 0.5)
        broadcaster.expect(nil)
        #expect(await reader.next()?.totalBytes == nil)
    }
}
