import Testing

@testable import TrellisCore
@testable import TrellisDownloads

/// The transfer of byte ranges from slow connections to connections that are done.
struct SegmentStealingTests {
    private var segments = DownloadSegments(total: 2_000_000)
    private var stealing = SegmentStealing()
    /// The range that the last check took over.
    private var taken: Range<Int64>?

    /// Splits the file between two connections.
    private mutating func begin() -> (DownloadSegments.ID, DownloadSegments.ID) {
        let first = segments.take() ?? 0
        let second = segments.halve(first) ?? 0
        let third = segments.take()
        #expect(third == nil)
        return (first, second)
    }

    private mutating func look() {
        let id = stealing.take(from: &segments)
        taken = id.map { segments.rest(of: $0) }
    }

    @Test mutating func theFirstLookTellsNothing() {
        _ = begin()
        look()
        #expect(taken == nil)
    }

    @Test mutating func whatIsFastComesByItself() {
        let (first, second) = begin()
        look()
        _ = segments.advance(first, by: 400_000)
        _ = segments.advance(second, by: 900_000)
        look()
        #expect(taken == nil)
    }

    @Test mutating func whatCrawlsIsShared() {
        let (first, second) = begin()
        look()
        _ = segments.advance(first, by: 200_000)
        _ = segments.advance(second, by: 900_000)
        look()
        #expect(taken == 600_000..<1_000_000)
    }

    /// A connection without progress is replaced, however few bytes are left.
    @Test(arguments: [0, 999_999]) mutating func whatStandsStillIsTakenOver(_ count: Int) {
        let (first, second) = begin()
        _ = segments.advance(first, by: count)
        _ = segments.advance(second, by: 1_000_000)
        segments.release(second)
        look()
        look()
        #expect(taken == Int64(count)..<1_000_000)
        #expect(segments.rest(of: first) == Int64(count)..<1_000_000)
    }

    @Test mutating func theLastOfWhatCrawlsIsTakenOverToo() {
        let (first, _) = begin()
        _ = segments.advance(first, by: 990_000)
        look()
        _ = segments.advance(first, by: 1000)
        look()
        // The other connection makes no progress, and has more left.
        #expect(taken == 1_000_000..<2_000_000)
        _ = segments.advance(first, by: 1000)
        look()
        #expect(taken == 992_000..<1_000_000)
    }

    /// A range is taken over only once the speed of the last new connection is known.
    @Test mutating func oneAtATime() {
        let (_, second) = begin()
        _ = segments.advance(second, by: 1_000_000)
        segments.release(second)
        look()
        look()
        #expect(taken != nil)
        look()
        #expect(taken == nil)
        look()
        #expect(taken != nil)
    }
}
