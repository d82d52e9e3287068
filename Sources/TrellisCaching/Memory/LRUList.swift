import TrellisCore

/// Lists by key, with the order in which they were used last. Each operation takes the same time for any number of keys. A list that
/// becomes empty is removed.
struct LRUList<Key: HashedKey, Element: Sendable>: Sendable {
    private struct Node {
        var key: Key
        /// The first element of the list; `nil` if the node is free. Most lists have no other one, and need no memory of their own.
        var first: Element?
        var others: [Element] = []
        /// The places of the lists that were used just before and just after this one; negative if there is none.
        var older = -1
        var newer = -1

        var list: [Element] {
            get { first.map { others.isEmpty ? [$0] : [$0] + others } ?? [] }
            set {
                first = newValue.first
                others = newValue.count > 1 ? Array(newValue.dropFirst()) : []
            }
        }
    }

    private var places = HashIndex()
    /// The nodes, in use or free.
    private var nodes: [Node] = []
    private var free: [Int] = []
    private var oldest = -1
    private var newest = -1

    /// The keys, in any order.
    var keys: [Key] { places.places.map { nodes[$0].key } }

    /// Returns the list of a key, which is its use.
    mutating func use(_ key: Key) -> [Element] {
        guard let place = place(of: key) else { return [] }
        moveToEnd(place)
        guard let first = nodes[place].first else { return [] }
        return nodes[place].others.isEmpty ? [first] : [first] + nodes[place].others
    }

    /// Makes the list of a key that has none. Returns `false`, and changes nothing, if there is one.
    mutating func add(_ first: Element, for key: Key) -> Bool {
        guard place(of: key) == nil else { return false }
        let place = free.last ?? nodes.count
        places.insert(key.number, place)
        if place == nodes.count {
            nodes.append(Node(key: key, first: first))
        } else {
            free.removeLast()
            nodes[place].key = key
            nodes[place].first = first
        }
        append(place)
        return true
    }

    /// Removes the first element of the list that was not used for the longest time, and returns it; `nil` if there is none.
    mutating func removeOldest() -> Element? {
        guard oldest >= 0 else { return nil }
        let place = oldest
        let removed = nodes[place].first
        if nodes[place].others.isEmpty {
            nodes[place].first = nil
            remove(at: place)
        } else {
            nodes[place].first = nodes[place].others.removeFirst()
        }
        return removed
    }

    /// Changes the list of a key, which is empty if there is none, and counts that as its use.
    mutating func useAndChange(_ key: Key, _ change: (inout [Element]) -> Void) {
        guard let place = place(of: key) else {
            var list: [Element] = []
            change(&list)
            guard let first = list.first, add(first, for: key) else { return }
            nodes[newest].others = Array(list.dropFirst())
            return
        }
        moveToEnd(place)
        self.change(at: place, change)
    }

    /// Changes the list of a key, if there is one, which does not count as its use.
    mutating func change(_ key: Key, _ change: (inout [Element]) -> Void) {
        guard let place = place(of: key) else { return }
        self.change(at: place, change)
    }

    private mutating func change(at place: Int, _ change: (inout [Element]) -> Void) {
        var list = nodes[place].list
        change(&list)
        nodes[place].list = list
        if list.isEmpty { remove(at: place) }
    }

    private func place(of key: Key) -> Int? { places.place(of: key.number) { nodes[$0].key == key } }

    private mutating func remove(at place: Int) {
        places.remove(nodes[place].key.number, place)
        unlink(place)
        free.append(place)
    }

    private mutating func moveToEnd(_ place: Int) {
        guard place != newest else { return }
        unlink(place)
        append(place)
    }

    private mutating func unlink(_ place: Int) {
        let (older, newer) = (nodes[place].older, nodes[place].newer)
        if older < 0 { oldest = newer } else { nodes[older].newer = newer }
        if newer < 0 { newest = older } else { nodes[newer].older = older }
    }

    private mutating func append(_ place: Int) {
        nodes[place].older = newest
        nodes[place].newer = -1
        if newest < 0 { oldest = place } else { nodes[newest].newer = place }
        newest = place
    }
}
