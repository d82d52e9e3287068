import TrellisCore

/// A key that knows its hash, so that the tables of a cache do not hash it again for each search.
protocol HashedKey: Equatable, Sendable {
    /// The hash. All of its bits depend on the key.
    var number: Int { get }
}

/// The places of values in an array, found by the hashes of their keys. The keys themselves are with the values.
///
/// A search compares numbers alone until it has found the hash, and copies no key. The table is half empty at least, and a value that is
/// removed leaves no mark, so that a search is short however many values came and left.
struct HashIndex: Sendable {
    private struct Slot {
        var hash: Int
        /// The place; negative if the slot is free.
        var place: Int
    }

    private static let minimumCount = 8

    /// The slots. Their number is a power of two, or zero.
    private var slots: [Slot] = []
    /// The number of values.
    private(set) var count = 0

    /// The places of all values, in any order.
    var places: [Int] { slots.compactMap { $0.place >= 0 ? $0.place : nil } }

    /// Returns the place of a value; `nil` if there is none.
    ///
    /// - Parameter isWanted: Returns whether the value at a place has the key.
    func place(of hash: Int, where isWanted: (Int) -> Bool) -> Int? {
        guard count > 0 else { return nil }
        let mask = slots.count - 1
        var index = hash & mask
        while slots[index].place >= 0 {
            if slots[index].hash == hash, isWanted(slots[index].place) { return slots[index].place }
            index = (index + 1) & mask
        }
        return nil
    }

    /// Adds the place of a value whose key is not in the table.
    mutating func insert(_ hash: Int, _ place: Int) {
        count += 1
        if 2 * count > slots.count { grow() }
        put(Slot(hash: hash, place: place))
    }

    /// Removes the place of a value.
    mutating func remove(_ hash: Int, _ place: Int) {
        guard count > 0 else { return }
        let mask = slots.count - 1
        var gap = hash & mask
        while slots[gap].place != place {
            guard slots[gap].place >= 0 else { return }
            gap = (gap + 1) & mask
        }
        count -= 1
        // A value after the gap moves into it, unless the gap is before the slot in which its search begins.
        var next = (gap + 1) & mask
        while slots[next].place >= 0 {
            let first = slots[next].hash & mask
            if (next - first) & mask >= (next - gap) & mask {
                slots[gap] = slots[next]
                gap = next
            }
            next = (next + 1) & mask
        }
        slots[gap].place = -1
    }

    private mutating func put(_ slot: Slot) {
        let mask = slots.count - 1
        var index = slot.hash & mask
        while slots[index].place >= 0 { index = (index + 1) & mask }
        slots[index] = slot
    }

    private mutating func grow() {
        let old = slots
        slots = Array(repeating: Slot(hash: 0, place: -1), count: max(2 * old.count, Self.minimumCount))
        for slot in old where slot.place >= 0 { put(slot) }
    }
}
