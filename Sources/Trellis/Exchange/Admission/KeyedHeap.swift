/// A binary heap of members, each with a key; the member with the lowest key comes first. It knows where each member is, so that
/// adding, moving and removing one cost O(log n).
struct KeyedHeap<Member: Hashable, Key: Comparable> {
    private var nodes: [(key: Key, member: Member)] = []
    private var places: [Member: Int] = [:]
    /// Keys that were compared so far. Tests hold the cost of an operation against it.
    private(set) var comparisons = 0

    var isEmpty: Bool { nodes.isEmpty }

    var count: Int { nodes.count }

    /// The member with the lowest key, and its key.
    var first: (key: Key, member: Member)? { nodes.first }

    func contains(_ member: Member) -> Bool { places[member] != nil }

    /// Adds a member, or moves it where it is there already.
    mutating func set(_ member: Member, to key: Key) {
        if let index = places[member] {
            nodes[index].key = key
            settle(index)
        } else {
            nodes.append((key, member))
            places[member] = nodes.count - 1
            siftUp(nodes.count - 1)
        }
    }

    /// Takes a member out; `false` where it is not there.
    @discardableResult
    mutating func remove(_ member: Member) -> Bool {
        guard let index = places.removeValue(forKey: member) else { return false }
        let last = nodes.removeLast()
        if index < nodes.count {
            nodes[index] = last
            places[last.member] = index
            settle(index)
        }
        // The memory of a crowd goes with it.
        if nodes.isEmpty, nodes.capacity > 64 { (nodes, places) = ([], [:]) }
        return true
    }

    /// Takes the member with the lowest key out.
    mutating func popFirst() -> Member? {
        guard let member = nodes.first?.member else { return nil }
        remove(member)
        return member
    }

    private mutating func settle(_ index: Int) {
        siftUp(index)
        siftDown(index)
    }

    private mutating func isBefore(_ first: Int, _ second: Int) -> Bool {
        comparisons &+= 1
        return nodes[first].key < nodes[second].key
    }

    private mutating func siftUp(_ start: Int) {
        var index = start
        while index > 0, isBefore(index, (index - 1) / 2) {
            swap(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private mutating func siftDown(_ start: Int) {
        var index = start
        while true {
            var smallest = index
            let left = 2 * index + 1
            if left < nodes.count, isBefore(left, smallest) { smallest = left }
            if left + 1 < nodes.count, isBefore(left + 1, smallest) { smallest = left + 1 }
            guard smallest != index else { return }
            swap(index, smallest)
            index = smallest
        }
    }

    private mutating func swap(_ first: Int, _ second: Int) {
        nodes.swapAt(first, second)
        places[nodes[first].member] = first
        places[nodes[second].member] = second
    }
}

extension KeyedHeap: Sendable where Member: Sendable, Key: Sendable {}
