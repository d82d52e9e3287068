import Testing

@testable import CurlEngine

/// A receive window grows to what a link needs, and no further, and only for a reader that keeps up.
struct HTTP2ReceiveWindowTests {
    /// A download over a simulated link, in steps of time. Windows are granted when half of one was taken, as nghttp2 does.
    struct Link: Sendable, CustomTestStringConvertible {
        /// The time of a round trip in microseconds.
        let roundTrip: Int
        /// The bytes a microsecond of the link.
        let rate: Int
        /// The bytes a microsecond that the reader takes.
        var reader = 10_000
        /// Whether the round trip was measured.
        var isMeasured = true

        var testDescription: String { "\(roundTrip) µs, \(rate) MB/s, read at \(reader) MB/s" }

        /// Returns the final window, and the rate of the last half of the download in bytes a microsecond.
        func download(_ size: Int, limit: Int = 16 << 20) -> (window: HTTP2ReceiveWindow, rate: Double) {
            let step = max(roundTrip / 40, 5)
            var window = HTTP2ReceiveWindow(size: 256 << 10, limit: limit, at: EngineInstant(nanoseconds: 1))
            var credit = 256 << 10, unsent = size, unread = 0, ungranted = 0, taken = 0, time = 0, halfTime = 0
            // What is on its way, with the times of its arrival.
            var arriving = FIFO<(time: Int, count: Int)>(), granted = FIFO<(time: Int, count: Int)>()
            while taken < size {
                time += step
                while let next = granted.peek, next.time <= time { credit += granted.popFirst()?.count ?? 0 }
                while let next = arriving.peek, next.time <= time { unread += arriving.popFirst()?.count ?? 0 }
                let sent = min(credit, unsent, rate * step)
                if sent > 0 { arriving.append((time + roundTrip / 2, sent)) }
                (credit, unsent) = (credit - sent, unsent - sent)
                let count = min(unread, reader * step)
                guard count > 0 else { continue }
                (unread, taken, ungranted) = (unread - count, taken + count, ungranted + count)
                if taken >= size / 2, halfTime == 0 { halfTime = time }
                let former = window.size
                let instant = EngineInstant(nanoseconds: UInt64(time) * 1_000)
                let hasGrown = window.take(
                    count, unread: unread, roundTrip: isMeasured ? Int64(roundTrip) * 1_000 : nil, at: instant)
                if hasGrown || ungranted >= window.size / 2 {
                    granted.append((time + roundTrip / 2, ungranted + window.size - former))
                    ungranted = 0
                }
            }
            return (window, Double(size / 2) / Double(time - halfTime))
        }
    }

    /// Links with the share of their rate that a download reaches, and bounds of its window.
    static let links: [(Link, share: Double, window: ClosedRange<Int>)] = [
        // Within a machine, in a data centre, across a country and an ocean, and a satellite.
        (Link(roundTrip: 50, rate: 2_000), 0.95, 256 << 10...1 << 20),
        (Link(roundTrip: 500, rate: 1_000), 0.95, 1 << 20...4 << 20),
        (Link(roundTrip: 20_000, rate: 12), 0.95, 256 << 10...2 << 20),
        (Link(roundTrip: 30_000, rate: 125), 0.95, 4 << 20...16 << 20),
        (Link(roundTrip: 100_000, rate: 12), 0.95, 2 << 20...16 << 20),
        (Link(roundTrip: 600_000, rate: 3), 0.95, 2 << 20...16 << 20),
        // The limit is 16 MiB for each round trip of 200 ms: 84 MB a second.
        (Link(roundTrip: 200_000, rate: 1_000), 0.08, 16 << 20...16 << 20),
    ]

    @Test(arguments: links.indices) func aDownload(_ index: Int) {
        let (link, share, bounds) = Self.links[index]
        let (window, rate) = link.download(256 << 20)
        #expect(bounds.contains(window.size), "\(link): \(window.size)")
        #expect(rate >= share * Double(link.rate), "\(link): \(rate)")
    }

    /// What would fill a larger window waits for the reader, and does not speed it up. The link alone would need 5 MB.
    @Test(arguments: [1, 5, 20]) func aReaderThatIsSlowerThanTheLink(_ rate: Int) {
        let link = Link(roundTrip: 20_000, rate: 125, reader: rate)
        let (window, reached) = link.download(64 << 20)
        #expect(window.size <= max(256 << 10, 8 * rate * link.roundTrip), "\(window.size)")
        #expect(reached >= 0.95 * Double(rate), "\(reached)")
    }

    @Test func withoutAMeasurementAWindowStays() {
        #expect(Link(roundTrip: 20_000, rate: 125, isMeasured: false).download(16 << 20).window.size == 256 << 10)
    }

    @Test(arguments: [0, 100 << 10, 256 << 10, 300 << 10, 1 << 20]) func aLimit(_ limit: Int) {
        let (window, _) = Link(roundTrip: 50_000, rate: 1_000).download(64 << 20, limit: limit)
        #expect(window.size == max(limit, 256 << 10))
    }

    /// A stream of events sends little in any round trip.
    @Test func aStreamThatTricklesKeepsItsWindow() {
        var window = HTTP2ReceiveWindow(size: 256 << 10, limit: 16 << 20, at: EngineInstant(nanoseconds: 1))
        for second in 1...10_000 {
            let now = EngineInstant(nanoseconds: UInt64(second) * 1_000_000_000)
            #expect(window.take(1_000, roundTrip: 50_000_000, at: now) == false)
        }
    }

    /// After a pause of the server, the window grows with the next content.
    @Test func aPauseOfTheServer() {
        var window = HTTP2ReceiveWindow(size: 256 << 10, limit: 16 << 20, at: EngineInstant(nanoseconds: 1))
        let later = EngineInstant(nanoseconds: 60_000_000_000)
        #expect(window.take(128 << 10, roundTrip: 1_000_000, at: later) == false)
        #expect(window.take(128 << 10, roundTrip: 1_000_000, at: later.advanced(byNanoseconds: 2_000_000)) == true)
        #expect(window.size == 512 << 10)
    }
}
