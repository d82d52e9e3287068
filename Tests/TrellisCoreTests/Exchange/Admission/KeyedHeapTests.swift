import Testing
import TrellisTesting

@testable import TrellisCore

/// A heap that returns the lowest key first.
struct KeyedHeapTests {
    @Test(arguments: 0..<30)
    func itIsASortedList(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var heap = KeyedHeap<Int, Int>()
        var model: [Int: Int] = [:]
        for key in 0..<2000 {
            let member = Int.random(in: 0..<100, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                // Every key is distinct, so that there is one order.
                let key = Int.random(in: 0..<100, using: &random) * 10_000 + key
                heap.set(member, to: key)
                model[member] = key
            case 2:
                let wasThere = heap.remove(member)
                #expect(wasThere == (model.removeValue(forKey: member) != nil))
            default:
                let first = model.min { $0.value < $1.value }
                let popped = heap.popFirst()
                #expect(popped == first?.key)
                if let first { model[first.key] = nil }
            }
            let least = model.min { $0.value < $1.value }
            #expect(heap.first?.member == least?.key && heap.first?.key == least?.value)
            #expect(heap.isEmpty == model.isEmpty)
            #expect(heap.contains(member) == (model[member] != nil))
        }
        var order: [Int] = []
        while let member = heap.popFirst() { order.append(member) }
        #expect(order == model.sorted { $0.value < $1.value }.map(\.key))
    }

    @Test func eachOperationCostsTheLogarithm() {
        var heap = KeyedHeap<Int, Int>()
        var most = 0
        func cost(_ body: (inout KeyedHeap<Int, Int>) -> Void) {
            let before = heap.comparisons
            body(&heap)
            most = max(most, heap.comparisons - before)
        }
        for member in 0..<10_000 { cost { $0.set(member, to: -member) } }
        for member in 0..<5000 { cost { $0.set(member * 2, to: member * 31 % 977) } }
        for member in 0..<2000 { cost { $0.remove(member * 3) } }
        while !heap.isEmpty { cost { _ = $0.popFirst() } }
        #expect(most <= 3 * 14)
    }
}
