import CurlEngine
package import FoundationEssentials

/// A wall clock that stands still until a test advances it.
package final class WallClock: Sendable {
    private let seconds = Locked<Double>(1_700_000_000)

    package init() {}

    package var now: Date { Date(timeIntervalSince1970: seconds.withLock { $0 }) }
    package func move(by count: Double) { seconds.withLock { $0 += count } }
}
