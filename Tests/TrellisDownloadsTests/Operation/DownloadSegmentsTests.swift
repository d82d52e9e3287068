import Testing
import TrellisTesting

@testable import TrellisCore
@testable import TrellisDownloads

/// The assignment of byte ranges to the connections of a download.
struct DownloadSegmentsTests {
    private var segments = DownloadSegments(total: 800, smallest: 50)

    /// Returns the remaining ranges of the segments that several workers take, one after the other.
    private mutating func take(_ count: Int) -> [DownloadSegments.ID] {
        (0..<count).compactMap { _ in segments.take() }
    }

    @Test mutating func workIsHalvedAgainAndAgain() {
        let ids = take(8)
        #expect(ids.map { segments.rest(of: $0).count } == Array(repeating: 100, count: 8))
        #expect(ids.map { segments.rest(of: $0).lowerBound }.sorted() == Array(stride(from: 0, to: 800, by: 100)))
        // All segments are assigned, down to the smallest size.
        let more = take(100).count
        #expect(more == 8)
        #expect(!segments.isWhole && segments.done == [])
    }

    @Test mutating func aSlowWorkerLosesItsWork() {
        let ids = take(2)
        #expect(segments.advance(ids[1], by: 400) == 400)
        segments.release(ids[1])
        let third = segments.take()
        #expect(segments.rest(of: ids[0]) == 0..<200)
        #expect(third.map { segments.rest(of: $0) } == 200..<400)
        // Bytes beyond the new end do not count.
        #expect(segments.advance(ids[0], by: 300) == 200)
        #expect(segments.done == [0..<200, 400..<800])
        #expect(segments.doneCount == 600)
    }

    @Test func moreThanTheEndOfAllThatCanBeCountedDoesNotCount() {
        var segments = DownloadSegments(total: .max, done: [0..<(.max - 10)])
        let id = segments.take() ?? 0
        #expect(segments.advance(id, by: 100) == 10)
        #expect(segments.isWhole)
    }

    @Test mutating func whatIsGivenBackIsForOthers() {
        let ids = take(2)
        _ = segments.advance(ids[1], by: 100)
        segments.release(ids[1])
        #expect(segments.done == [400..<500])
        let next = segments.take()
        #expect(next.map { segments.rest(of: $0) } == 500..<800)
        #expect(segments.advance(ids[1], by: 10) == 0)
    }

    @Test mutating func anAnswerWithAllOfItGoesOn() {
        let first = segments.take(isOpenEnded: true)
        let second = segments.take()
        second.map { segments.release($0) }
        #expect(first.map { segments.rest(of: $0) } == 0..<800)
    }

    /// A response brings nothing more once its segment is complete: a faster connection has completed the segment, and the slower
    /// one may not know yet.
    @Test mutating func anAnswerWhoseSegmentIsWholeBringsNothingMore() {
        let first = segments.take(isOpenEnded: true) ?? 0
        let second = segments.take() ?? 0
        let faster = segments.join(first) ?? 0
        #expect(segments.advance(faster, by: 400) == 400)
        segments.release(second)
        #expect(segments.rest(of: first).isEmpty && segments.rest(of: faster).isEmpty)
        segments.release(faster)
        segments.release(first)
        let next = segments.take()
        #expect(next.map { segments.rest(of: $0) } == 400..<800)
    }

    @Test mutating func severalFetchTheSame() {
        let first = segments.take() ?? 0
        #expect(segments.advance(first, by: 700) == 700)
        let second = segments.join(first) ?? 0
        #expect(segments.rest(of: second) == 700..<800 && segments.otherFetches(of: first) == [second])
        #expect(segments.advance(second, by: 60) == 60)
        // Bytes that are there already are no longer missing.
        #expect(segments.advance(first, by: 50) == 0)
        #expect(segments.rest(of: first) == 750..<800 && segments.done == [0..<760])
        // The first connection still fetches the segment, so that no other has to take it.
        segments.release(second)
        #expect(segments.underWay.map(\.rest) == [760..<800] && segments.otherFetches(of: first) == [])
        #expect(segments.advance(first, by: 50) == 40)
        #expect(segments.isWhole && segments.rest(of: first).isEmpty)
    }

    @Test mutating func whoeverIsFasterEndsItForBoth() {
        let first = segments.take(isOpenEnded: true) ?? 0
        let second = segments.join(first) ?? 0
        #expect(segments.advance(second, by: 800) == 800)
        #expect(segments.rest(of: first).isEmpty && segments.isWhole)
        segments.release(first)
        segments.release(second)
        #expect(segments.done == [0..<800] && segments.underWay.isEmpty)
    }

    /// A second connection continues the segment that the first one leaves, up to the end of its own range.
    @Test mutating func theFirstOneLeaves() {
        let first = segments.take(isOpenEnded: true) ?? 0
        let other = segments.take() ?? 0
        let second = segments.join(first) ?? 0
        segments.release(first)
        segments.release(other)
        #expect(segments.rest(of: second) == 0..<400)
        let next = segments.take()
        #expect(next.map { segments.rest(of: $0) } == 400..<800)
    }

    @Test mutating func theEnd() {
        for id in take(4) {
            _ = segments.advance(id, by: 1000)
            segments.release(id)
        }
        let last = segments.take()
        #expect(segments.isWhole && segments.done == [0..<800] && last == nil)
    }

    @Test(
        arguments: [
            ([], [0..<800]), ([0..<100], [100..<800]), ([100..<200], [0..<100, 200..<800]),
            ([0..<100, 100..<200, 700..<800], [200..<700]), ([0..<800], []), ([0..<900], []),
        ] as [([Range<Int64>], [Range<Int64>])])
    func whatIsMissing(_ done: [Range<Int64>], _ missing: [Range<Int64>]) {
        // A smallest size above the total, so that no segment is halved.
        var segments = DownloadSegments(total: 800, done: done, smallest: 1000)
        var found: [Range<Int64>] = []
        while let id = segments.take() { found.append(segments.rest(of: id)) }
        #expect(found == missing)
    }

    /// Any order of events ends with every byte received once.
    @Test(arguments: 1...20)
    func randomWork(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var segments = DownloadSegments(total: 5000, smallest: 10)
        var active: [DownloadSegments.ID] = []
        var count = 0
        for _ in 0..<20_000 where !segments.isWhole {
            switch Int.random(in: 0..<10, using: &generator) {
            case 0: if active.count < 8, let id = segments.take() { active.append(id) }
            case 2:
                guard active.count < 8, let slow = segments.underWay.randomElement(using: &generator) else { continue }
                let isHalved = Bool.random(using: &generator)
                if let id = isHalved ? segments.halve(slow.id) : segments.join(slow.id) { active.append(id) }
            case 1:
                guard let index = active.indices.randomElement(using: &generator) else { continue }
                segments.release(active.remove(at: index))
            default:
                guard let id = active.randomElement(using: &generator) else { continue }
                count += segments.advance(id, by: Int.random(in: 0..<40, using: &generator))
            }
            #expect(segments.doneCount == Int64(count))
        }
        #expect(segments.isWhole && count == 5000 && segments.done == [0..<5000])
    }
}
