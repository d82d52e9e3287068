/// Rings of file descriptors, each with an order. Each descriptor is in one ring at most. Every change costs O(1).
struct DescriptorRings {
    private struct Links {
        var previous: Int32 = -1
        var next: Int32 = -1
    }

    private var links: [Links] = []

    private subscript(descriptor: Int32) -> Links {
        get { links[Int(descriptor)] }
        _modify { yield &links[Int(descriptor)] }
    }

    /// Makes room for a descriptor, which is in no ring.
    mutating func makeRoom(for descriptor: Int32) {
        while links.count <= Int(descriptor) { links.append(Links()) }
    }

    /// Returns the descriptor after another one in its ring: the first one after the last one.
    func next(after descriptor: Int32) -> Int32 { self[descriptor].next }

    /// Returns the descriptor before another one in its ring: the last one before the first one.
    func previous(before descriptor: Int32) -> Int32 { self[descriptor].previous }

    /// Adds a descriptor at the end of a ring.
    ///
    /// - Parameter first: The first descriptor of the ring; negative if the ring is empty.
    mutating func append(_ descriptor: Int32, to first: inout Int32) {
        let last = first < 0 ? descriptor : self[first].previous
        self[descriptor] = Links(previous: last, next: first < 0 ? descriptor : first)
        self[last].next = descriptor
        self[self[descriptor].next].previous = descriptor
        if first < 0 { first = descriptor }
    }

    /// Removes a descriptor from a ring.
    ///
    /// - Parameter first: The first descriptor of the ring; negative if the ring is then empty.
    mutating func remove(_ descriptor: Int32, from first: inout Int32) {
        let (previous, next) = (self[descriptor].previous, self[descriptor].next)
        self[previous].next = next
        self[next].previous = previous
        if first == descriptor { first = next == descriptor ? -1 : next }
    }
}
