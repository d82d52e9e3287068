/// A binary heap of members, each with a key. The member with the lowest key is first. The heap stores the place of each member,
/// so that adding, moving and removing a member cost O(log n).
struct KeyedHeap<Member: Hashable, Key: Comparable> {
    private var nodes: [(key: Key, member: Member)] = []
    private var places: [Member: Int] = [:]
    /// The number of key comparisons so far. Tests use it to check the cost of an operation.
    private(set) var comparisons = 0

    var isEmpty: Bool { nodes.isEmpty }

    /// The member with the lowest key, and its key.
    var first: (key: Key, member: Member)? { nodes.first }

    func contains(_ member: Member) -> Bool { places[member] != nil }

    /// Adds a member, or moves it if it is in the heap already.
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

    /// Removes a member. Returns `false` if the member is not in the heap.
    @discardableResult
    mutating func remove(_ member: Member) -> Bool {
        guard let index = places.removeValue(forKey: member) else { return false }
        let last = nodes.removeLast()
        if index < nodes.count {
            nodes[index] = last
            places[last.member] = index
            settle(index)
        }
        // Releases the memory of a large heap once it is empty.
        if nodes.isEmpty, nodes.capacity > 64 { (nodes, places) = ([], [:]) }
        return true
    }

    /// Removes and returns the member with the lowest key; `nil` if the heap is empty.
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
