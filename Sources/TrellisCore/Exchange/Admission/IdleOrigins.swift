/// The origins that may have an idle connection, ordered by the last release of a slot.
struct IdleOrigins {
    private var heap = KeyedHeap<Int, UInt64>()
    /// The number of releases so far, of all origins.
    private var releaseCount: UInt64 = 0

    /// The origin that was released least recently; `nil` if there is none.
    var first: Int? { heap.first?.member }

    /// Records the release of a slot.
    mutating func didRelease(_ origin: Int) {
        releaseCount += 1
        heap.set(origin, to: releaseCount)
    }

    /// Removes an origin that has no idle connection.
    mutating func remove(_ origin: Int) { heap.remove(origin) }

    /// Returns whether the first origin was released lately: all connections together have served no more than two requests each since.
    func isFresh(connections: Int) -> Bool {
        guard let last = heap.first?.key else { return false }
        return releaseCount - last <= UInt64(2 * max(connections, 0))
    }
}
