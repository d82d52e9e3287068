import TrellisCore

/// The choice of the segment that an idle connection takes over from a slow one, at the end of a download in parts. A pure value:
/// two choices are ``interval`` apart.
///
/// While much is left of a segment, half of it is taken as soon as a connection is idle. A smaller rest usually arrives by itself,
/// but not if its connection is slow or has stalled.
struct SegmentStealing: Sendable {
    /// The time between two choices.
    static let interval: Duration = .milliseconds(500)
    /// The smallest rest, in bytes, of a slow segment that is halved; below that, several connections fetch the same bytes.
    private static let smallest = 128 << 10

    /// The rest of each segment at the last choice, and the number of connections that fetched it.
    private var last: [DownloadSegments.ID: (rest: Range<Int64>, fetches: Int)] = [:]

    /// Takes a segment that would not be complete within a second; returns `nil` if the caller has to try again after the
    /// interval.
    mutating func take(from segments: inout DownloadSegments) -> DownloadSegments.ID? {
        let now = segments.underWay
        defer { last = Dictionary(uniqueKeysWithValues: now.map { ($0.id, ($0.rest, $0.fetches)) }) }
        let slow = now.compactMap { segment -> (id: DownloadSegments.ID, gained: Int, fetches: Int, left: Int)? in
            // A connection that has joined since then may be fast.
            guard let before = last[segment.id], before.fetches == segment.fetches, !segment.rest.isEmpty else {
                return nil
            }
            let gained = Int(segment.rest.lowerBound - before.rest.lowerBound)
            return segment.rest.count > 2 * gained
                ? (segment.id, gained, segment.fetches, segment.rest.count) : nil
        }
        // The slow segment with the fewest connections; among several, the one with the most bytes left.
        guard let choice = slow.min(by: { ($0.fetches, $1.left) < ($1.fetches, $0.left) }) else { return nil }
        // A segment that has stalled is fetched completely by a second connection: its first half would stay stalled.
        return choice.gained > 0 && choice.left >= Self.smallest ? segments.halve(choice.id) : segments.join(choice.id)
    }
}
