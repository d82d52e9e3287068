/// Which bytes of a download are missing, and who fetches which. A pure value.
///
/// Whoever has nothing to do takes a segment that nobody fetches, or the second half of the one that has most left to come: so a
/// slow connection loses work to fast ones.
struct DownloadSegments: Hashable, Sendable {
    /// Names a segment that is being fetched.
    typealias ID = Int

    private struct Segment: Hashable, Sendable {
        var position: Int64
        var end: Int64
        /// The answer goes on behind the end, if need be.
        let isOpenEnded: Bool
    }

    /// So much of a segment is worth a request of its own: a fraction of a second.
    static let smallest: Int64 = 1 << 20

    let total: Int64
    private let smallest: Int64
    private var free: [Range<Int64>]
    private var active: [ID: Segment] = [:]
    private var next = 0

    /// - Parameter done: Which bytes are there already, in order.
    init(total: Int64, done: [Range<Int64>] = [], smallest: Int64 = DownloadSegments.smallest) {
        self.total = total
        self.smallest = smallest
        free = Self.rest(of: done, total)
    }

    private static func rest(of ranges: [Range<Int64>], _ total: Int64) -> [Range<Int64>] {
        var rest: [Range<Int64>] = []
        var start: Int64 = 0
        for range in ranges {
            if range.lowerBound > start { rest.append(start..<range.lowerBound) }
            start = max(start, range.upperBound)
        }
        if start < total { rest.append(start..<total) }
        return rest
    }

    /// Nothing is missing.
    var isWhole: Bool { free.isEmpty && active.values.allSatisfy { $0.position == $0.end } }

    /// What is there, in order.
    var done: [Range<Int64>] {
        let missing = free + active.values.map { $0.position..<$0.end }
        return Self.rest(of: missing.filter { !$0.isEmpty }.sorted { $0.lowerBound < $1.lowerBound }, total)
    }

    /// What is there of it, in bytes.
    var doneCount: Int64 { done.reduce(0) { $0 + Int64($1.count) } }

    /// Something to fetch; `nil`: there is nothing that would be worth it.
    ///
    /// - Parameter isOpenEnded: The answer that brings it is all of the representation.
    mutating func take(isOpenEnded: Bool = false) -> ID? {
        if !free.isEmpty {
            let range = free.removeFirst()
            return add(range, isOpenEnded: isOpenEnded)
        }
        // The lowest of several that are as long, so that it is the same every time.
        guard
            let (id, segment) = active.max(by: {
                ($0.value.end - $0.value.position, $1.key) < ($1.value.end - $1.value.position, $0.key)
            }), segment.end - segment.position >= 2 * smallest
        else { return nil }
        let middle = segment.position + (segment.end - segment.position) / 2
        active[id]?.end = middle
        return add(middle..<segment.end, isOpenEnded: false)
    }

    private mutating func add(_ range: Range<Int64>, isOpenEnded: Bool) -> ID {
        next += 1
        active[next] = Segment(position: range.lowerBound, end: range.upperBound, isOpenEnded: isOpenEnded)
        return next
    }

    /// What is still to come of a segment, as far as others have not taken it.
    func rest(of id: ID) -> Range<Int64> { active[id].map { $0.position..<$0.end } ?? 0..<0 }

    /// Bytes have been written from the beginning of the rest on; returns how many of them count.
    mutating func advance(_ id: ID, by count: Int) -> Int {
        guard let segment = active[id] else { return 0 }
        let position = min(segment.position + Int64(count), segment.end)
        active[id]?.position = position
        return Int(position - segment.position)
    }

    /// Nobody fetches the segment any more. What is missing of it is for others.
    mutating func giveBack(_ id: ID) {
        guard let segment = active.removeValue(forKey: id), segment.position < segment.end else { return }
        // An answer that would go on there may as well do so.
        if let neighbour = active.first(where: { $0.value.isOpenEnded && $0.value.end == segment.position })?.key {
            active[neighbour]?.end = segment.end
            return
        }
        free.append(segment.position..<segment.end)
    }
}
