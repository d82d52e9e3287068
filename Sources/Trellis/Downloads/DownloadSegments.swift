/// Which bytes of a download are missing, and who fetches which. A pure value.
///
/// Whoever has nothing to do takes a segment that nobody fetches, or the second half of the one that has most left to come: so a
/// slow connection loses work to fast ones. Of the last of it, several may fetch the same: see ``DownloadEndgame``.
struct DownloadSegments: Hashable, Sendable {
    /// Names somebody who fetches a segment.
    typealias ID = Int

    private struct Segment: Hashable, Sendable {
        /// What is there ends here.
        var position: Int64
        var end: Int64
        /// Those who fetch it, and how far each of them is.
        var runners: [ID: Int64]
        /// The one whose answer goes on behind the end, if need be.
        let openEnded: ID?

        var rest: Range<Int64> { position..<end }

        /// Whether an answer that is under way brings what lies behind, from a place on. One of a segment that is whole may have been
        /// ended already by the answer that was faster.
        func goesOn(at place: Int64) -> Bool {
            end == place && !rest.isEmpty && openEnded.map { runners[$0] != nil } == true
        }
    }

    /// So much of a segment is worth a request of its own: a fraction of a second.
    static let smallest: Int64 = 1 << 20

    let total: Int64
    /// What is there, in bytes.
    private(set) var doneCount: Int64
    private let smallest: Int64
    private var free: [Range<Int64>]
    /// By whoever was the first to fetch it.
    private var active: [ID: Segment] = [:]
    /// The segments of those who were not the first.
    private var joined: [ID: ID] = [:]
    private var next = 0

    /// - Parameter done: Which bytes are there already, in order.
    init(total: Int64, done: [Range<Int64>] = [], smallest: Int64 = DownloadSegments.smallest) {
        self.total = total
        self.smallest = smallest
        free = Self.rest(of: done, total)
        doneCount = total - free.reduce(0) { $0 + Int64($1.count) }
    }

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

    /// Nothing is missing.
    var isWhole: Bool { doneCount == total }

    /// What is there, in order.
    var done: [Range<Int64>] {
        let missing = free + active.values.map(\.rest)
        return Self.rest(of: missing.filter { !$0.isEmpty }.sorted { $0.lowerBound < $1.lowerBound }, total)
    }

    // MARK: Taking

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
                ($0.value.rest.count, $1.key) < ($1.value.rest.count, $0.key)
            }), segment.rest.count >= 2 * smallest
        else { return nil }
        return halve(id)
    }

    /// Takes the second half of what is left of a segment.
    mutating func halve(_ id: ID) -> ID? {
        guard let segment = active[id], segment.rest.count >= 2 else { return nil }
        let middle = segment.position + Int64(segment.rest.count / 2)
        active[id]?.end = middle
        return add(middle..<segment.end, isOpenEnded: false)
    }

    /// Fetches what is left of a segment beside those who do already.
    mutating func join(_ id: ID) -> ID? {
        guard let segment = active[id], !segment.rest.isEmpty else { return nil }
        next += 1
        joined[next] = id
        active[id]?.runners[next] = segment.position
        return next
    }

    private mutating func add(_ range: Range<Int64>, isOpenEnded: Bool) -> ID {
        next += 1
        active[next] = Segment(
            position: range.lowerBound, end: range.upperBound, runners: [next: range.lowerBound],
            openEnded: isOpenEnded ? next : nil)
        return next
    }

    /// The segments that are being fetched, with what is left of each and how many fetch it, in the order in which they began.
    var underWay: [(id: ID, rest: Range<Int64>, runners: Int)] {
        active.sorted { $0.key < $1.key }.map { ($0.key, $0.value.rest, $0.value.runners.count) }
    }

    // MARK: Fetching

    private func segment(of id: ID) -> Segment? { active[joined[id] ?? id] }

    /// What is still to come for somebody, as far as others have not taken or fetched it.
    func rest(of id: ID) -> Range<Int64> {
        guard let segment = segment(of: id), let position = segment.runners[id] else { return 0..<0 }
        return segment.rest.isEmpty ? segment.end..<segment.end : position..<segment.end
    }

    /// Those who fetch the same.
    func rivals(of id: ID) -> [ID] { segment(of: id)?.runners.keys.filter { $0 != id } ?? [] }

    /// Bytes have been written from the beginning of the rest on; returns how many of them were missing.
    mutating func advance(_ id: ID, by count: Int) -> Int {
        guard var segment = segment(of: id), let start = segment.runners[id] else { return 0 }
        let position = start + min(Int64(count), segment.end - start)
        let gained = max(0, position - segment.position)
        segment.runners[id] = position
        segment.position += gained
        active[joined[id] ?? id] = segment
        doneCount += gained
        return Int(gained)
    }

    /// Somebody leaves. What is missing of the segment is for others, unless somebody else fetches it too.
    mutating func giveBack(_ id: ID) {
        let key = joined.removeValue(forKey: id) ?? id
        guard active[key]?.runners.removeValue(forKey: id) != nil, let segment = active[key] else { return }
        guard segment.runners.isEmpty else { return }
        active[key] = nil
        guard !segment.rest.isEmpty else { return }
        // An answer that would go on there may as well do so.
        if let neighbour = active.first(where: { $0.value.goesOn(at: segment.position) })?.key {
            active[neighbour]?.end = segment.end
            return
        }
        free.append(segment.rest)
    }
}
