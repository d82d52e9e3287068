import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// The table of places: a value is found until it is removed, however many hashes collide.
struct HashIndexTests {
    /// A dictionary as the independent result.
    @Test(arguments: [1, 3, 1 << 20], 0..<5 as Range<UInt64>)
    func valuesAreFoundUntilTheyAreRemoved(_ hashCount: Int, _ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var table = HashIndex()
        var keys: [Int: Int] = [:]
        // A hash may be negative. Those that differ by a multiple of 64 begin in the same slot of a small table.
        func hash(_ key: Int) -> Int { (key % hashCount) * 64 - 1000 }
        for step in 0..<400 {
            let key = Int.random(in: 0..<100, using: &random)
            let place = table.place(of: hash(key)) { place in keys[key] == place }
            #expect(place == keys[key])
            if let place {
                table.remove(hash(key), place)
                keys[key] = nil
            } else if step < 300 || hashCount == 3 {
                table.insert(hash(key), 1000 + step)
                keys[key] = 1000 + step
            }
            #expect(table.count == keys.count)
            if step % 16 == 0 { #expect(table.places.sorted() == keys.values.sorted()) }
        }
        for (key, place) in keys {
            let found = table.place(of: hash(key)) { $0 == place }
            #expect(found == place)
            // Removing a place that the table does not have changes nothing.
            table.remove(hash(key), -7)
            table.remove(hash(key), place)
        }
        let found = table.place(of: hash(1)) { _ in true }
        #expect(table.count == 0 && table.places.isEmpty && found == nil)
    }

    @Test func anEmptyTableHasNothing() {
        var table = HashIndex()
        let found = table.place(of: 1) { _ in true }
        table.remove(1, 1)
        #expect(found == nil && table.count == 0)
    }
}
