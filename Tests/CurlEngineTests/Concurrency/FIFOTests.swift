import Testing

@testable import CurlEngine

struct FIFOTests {
    @Test(arguments: [1, 4, 64, 65, 300])
    func elementsComeInTheirOrderEachTimeThatTheQueueWasEmptied(_ count: Int) {
        var queue = FIFO<Int>()
        for round in 0..<3 {
            for number in 0..<count { queue.append(round * count + number) }
            #expect(queue.count == count && queue.peek == round * count)
            for number in 0..<count { #expect(queue.popFirst() == round * count + number) }
            #expect(queue.isEmpty && queue.isEmpty == (queue.count == 0))
            #expect(queue.peek == nil && queue.popFirst() == nil && !queue.contains { _ in true })
        }
    }

    @Test func anEmptiedQueueHasNothingToRemove() {
        var queue = FIFO<Int>()
        queue.append(1)
        #expect(queue.popFirst() == 1)
        queue.removeAll { _ in true }
        queue.append(2)
        queue.append(3)
        queue.removeAll { $0 == 2 }
        #expect(queue.popFirst() == 3 && queue.isEmpty)
    }

    @Test func takenElementsAreReleasedAtOnce() {
        final class Element {}
        var queue = FIFO<Element>()
        weak var first: Element?
        do {
            let element = Element()
            first = element
            queue.append(element)
        }
        #expect(queue.popFirst() === first)
        #expect(first == nil)
    }
}
