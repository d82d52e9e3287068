/// Lists by key, with the order in which they were used last. Each operation takes the same time for any number of keys. A list that
/// becomes empty is removed.
struct UseOrder<Key: Hashable & Sendable, Element: Sendable>: Sendable {
    private struct Node {
        var key: Key
        var list: [Element]
        /// The places of the lists that were used just before and just after this one; negative if there is none.
        var older: Int
        var newer: Int
    }

    private var places: [Key: Int] = [:]
    /// The nodes. The lists of those that are free are empty.
    private var nodes: [Node] = []
    private var free: [Int] = []
    private var oldest = -1
    private var newest = -1

    /// The keys, in any order.
    var keys: [Key] { Array(places.keys) }

    /// The key of the list that was not used for the longest time; `nil` if there is none.
    var oldestKey: Key? { oldest < 0 ? nil : nodes[oldest].key }

    /// Returns the list of a key, which is its use.
    mutating func use(_ key: Key) -> [Element] {
        guard let place = places[key] else { return [] }
        moveToEnd(place)
        return nodes[place].list
    }

    /// Changes the list of a key, which is empty if there is none, and counts that as its use.
    mutating func useAndChange(_ key: Key, _ change: (inout [Element]) -> Void) {
        let new = free.last ?? nodes.count
        let place = Self.value(&places[key, default: new])
        // A list that is known has another place than that of a new one.
        if place == new { add(key, at: place) } else { moveToEnd(place) }
        change(&nodes[place].list)
        if nodes[place].list.isEmpty { remove(key, at: place) }
    }

    /// Changes the list of a key, if there is one, which does not count as its use.
    mutating func change(_ key: Key, _ change: (inout [Element]) -> Void) {
        guard let place = places[key] else { return }
        change(&nodes[place].list)
        if nodes[place].list.isEmpty { remove(key, at: place) }
    }

    /// Returns a value that is looked up, and added if it is missing, with a single search.
    private static func value(_ place: inout Int) -> Int { place }

    private mutating func add(_ key: Key, at place: Int) {
        let node = Node(key: key, list: [], older: newest, newer: -1)
        if free.popLast() == nil { nodes.append(node) } else { nodes[place] = node }
        append(place)
    }

    private mutating func remove(_ key: Key, at place: Int) {
        places[key] = nil
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
        (nodes[place].older, nodes[place].newer) = (newest, -1)
        if newest < 0 { oldest = place } else { nodes[newest].newer = place }
        newest = place
    }
}
