/// What somebody who has nothing to do takes from those who are slow, at the end of a download in parts. A pure value: one look
/// follows the other after ``interval``.
///
/// While there is much left of a segment, half of it is taken as soon as somebody is free. What is too little for that comes by
/// itself, as a rule; but not where its connection crawls, or stands still.
struct DownloadEndgame: Sendable {
    /// The time between two looks.
    static let interval: Duration = .milliseconds(500)
    /// What crawls is shared down to so little; below that, several fetch the same.
    private static let smallest = 128 << 10

    /// What was left at the last look, and who fetched it.
    private var last: [DownloadSegments.ID: (rest: Range<Int64>, runners: Int)] = [:]

    /// Takes something that would not come within a second; `nil`: one has to look again.
    mutating func take(from segments: inout DownloadSegments) -> DownloadSegments.ID? {
        let now = segments.underWay
        defer { last = Dictionary(uniqueKeysWithValues: now.map { ($0.id, ($0.rest, $0.runners)) }) }
        let slow = now.compactMap { segment -> (id: DownloadSegments.ID, gained: Int, runners: Int, left: Int)? in
            // Whoever has come since then may be fast.
            guard let before = last[segment.id], before.runners == segment.runners, !segment.rest.isEmpty else {
                return nil
            }
            let gained = Int(segment.rest.lowerBound - before.rest.lowerBound)
            return segment.rest.count > 2 * gained
                ? (segment.id, gained, segment.runners, segment.rest.count) : nil
        }
        // One that nobody helps yet, and of those the one that has most left.
        guard let choice = slow.min(by: { ($0.runners, $1.left) < ($1.runners, $0.left) }) else { return nil }
        // What stands still is worth nothing.
        return choice.gained > 0 && choice.left >= Self.smallest ? segments.halve(choice.id) : segments.join(choice.id)
    }
}
