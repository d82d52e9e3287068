import TrellisCore

/// The missing bytes of a download in segments, and the fetches that bring them. A pure value.
///
/// An idle worker takes a segment that is not being fetched, or the second half of the segment with the most bytes left: so a
/// slow connection loses work to fast ones. At the end, several workers may fetch the same bytes: see ``SegmentStealing``.
struct DownloadSegments: Hashable, Sendable {
    /// The ID of a fetch.
    typealias ID = Int

    /// A range that is being fetched by one or more workers.
    private struct Segment: Hashable, Sendable {
        /// The end of the bytes that have arrived.
        var position: Int64
        var end: Int64
        /// The fetches of the segment, and the position that each has reached.
        var fetches: [ID: Int64]
        /// The fetch whose response also carries the bytes after the segment.
        let openEnded: ID?

        var rest: Range<Int64> { position..<end }

        /// Returns whether a response that is being read also brings the bytes after the segment, from `position` on. The
        /// response of a complete segment does not count, because a faster fetch may have ended that response already.
        func continues(from position: Int64) -> Bool {
            end == position && !rest.isEmpty && openEnded.map { fetches[$0] != nil } == true
        }
    }

    /// The smallest number of bytes that is worth a request: about a fraction of a second.
    static let smallest: Int64 = 1 << 20

    /// The size of the file in bytes.
    let total: Int64
    /// The number of bytes that have arrived.
    private(set) var doneCount: Int64
    private let smallest: Int64
    /// The missing ranges that are not being fetched.
    private var free: [Range<Int64>]
    /// The segments that are being fetched, by the ID of their first fetch.
    private var active: [ID: Segment] = [:]
    /// The ID of a segment's first fetch, by the IDs of the others.
    private var joined: [ID: ID] = [:]
    /// The last ID that was given out.
    private var next = 0

    /// Creates the segments of a file.
    ///
    /// - Parameter done: The byte ranges that have arrived already, in order.
    init(total: Int64, done: [Range<Int64>] = [], smallest: Int64 = DownloadSegments.smallest) {
        self.total = total
        self.smallest = smallest
        free = Self.rest(of: done, total)
        doneCount = total - free.reduce(0) { $0 + Int64($1.count) }
    }

    /// Returns the ranges of the file that are not in `ranges`.
    private static func rest(of ranges: [Range<Int64>], _ total: Int64) -> [Range<Int64>] {
        var rest: [Range<Int64>] = []
        var start: Int64 = 0
        for range in ranges {
            if range.lowerBound > start { rest.append(start..<min(range.lowerBound, total)) }
            start = min(max(start, range.upperBound), total)
        }
        if start < total { rest.append(start..<total) }
        return rest
    }

    /// Whether no bytes are missing.
    var isWhole: Bool { doneCount == total }

    /// The byte ranges that have arrived, in order.
    var done: [Range<Int64>] {
        let missing = free + active.values.map(\.rest)
        return Self.rest(of: missing.filter { !$0.isEmpty }.sorted { $0.lowerBound < $1.lowerBound }, total)
    }

    // MARK: Choice of segments

    /// Begins a fetch of a missing range, or of half of a segment; returns `nil` if no segment is worth a fetch.
    ///
    /// - Parameter isOpenEnded: Whether the response carries the complete representation.
    mutating func take(isOpenEnded: Bool = false) -> ID? {
        if !free.isEmpty {
            let range = free.removeFirst()
            return add(range, isOpenEnded: isOpenEnded)
        }
        // The lowest of several segments of the same length, so that the choice is the same every time.
        guard
            let (id, segment) = active.max(by: {
                ($0.value.rest.count, $1.key) < ($1.value.rest.count, $0.key)
            }), segment.rest.count >= 2 * smallest
        else { return nil }
        return halve(id)
    }

    /// Begins a fetch of the second half of the rest of a segment.
    mutating func halve(_ id: ID) -> ID? {
        guard let segment = active[id], segment.rest.count >= 2 else { return nil }
        let middle = segment.position + Int64(segment.rest.count / 2)
        active[id]?.end = middle
        return add(middle..<segment.end, isOpenEnded: false)
    }

    /// Begins another fetch of the rest of a segment, beside those that are under way.
    mutating func join(_ id: ID) -> ID? {
        guard let segment = active[id], !segment.rest.isEmpty else { return nil }
        next += 1
        joined[next] = id
        active[id]?.fetches[next] = segment.position
        return next
    }

    private mutating func add(_ range: Range<Int64>, isOpenEnded: Bool) -> ID {
        next += 1
        active[next] = Segment(
            position: range.lowerBound, end: range.upperBound, fetches: [next: range.lowerBound],
            openEnded: isOpenEnded ? next : nil)
        return next
    }

    /// The segments that are being fetched, in the order in which their first fetches began: the rest of each, and the number of
    /// its fetches.
    var underWay: [(id: ID, rest: Range<Int64>, fetches: Int)] {
        active.sorted { $0.key < $1.key }.map { ($0.key, $0.value.rest, $0.value.fetches.count) }
    }

    // MARK: Progress of fetches

    private func segment(of id: ID) -> Segment? { active[joined[id] ?? id] }

    /// Returns the bytes that are still missing for a fetch, as far as others have not taken or fetched them.
    func rest(of id: ID) -> Range<Int64> {
        guard let segment = segment(of: id), let position = segment.fetches[id] else { return 0..<0 }
        return segment.rest.isEmpty ? segment.end..<segment.end : position..<segment.end
    }

    /// Returns the other fetches of the same segment.
    func otherFetches(of id: ID) -> [ID] { segment(of: id)?.fetches.keys.filter { $0 != id } ?? [] }

    /// Records bytes that were written at the beginning of a fetch's rest; returns how many of them were missing.
    mutating func advance(_ id: ID, by count: Int) -> Int {
        guard var segment = segment(of: id), let start = segment.fetches[id] else { return 0 }
        let position = start + min(Int64(count), segment.end - start)
        let gained = max(0, position - segment.position)
        segment.fetches[id] = position
        segment.position += gained
        active[joined[id] ?? id] = segment
        doneCount += gained
        return Int(gained)
    }

    /// Ends a fetch. The rest of the segment becomes free, unless another fetch is under way.
    mutating func release(_ id: ID) {
        let key = joined.removeValue(forKey: id) ?? id
        guard active[key]?.fetches.removeValue(forKey: id) != nil, let segment = active[key] else { return }
        guard segment.fetches.isEmpty else { return }
        active[key] = nil
        guard !segment.rest.isEmpty else { return }
        // An open response that carries these bytes anyway takes them over.
        if let neighbour = active.first(where: { $0.value.continues(from: segment.position) })?.key {
            active[neighbour]?.end = segment.end
            return
        }
        free.append(segment.rest)
    }
}
