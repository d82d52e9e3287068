import Testing

@testable import CurlEngine

/// A reference that is stored once.
struct LazyReferenceTests {
    /// An object that counts how many of its kind exist.
    private final class Counted: Sendable {
        let number: Int
        private let count: Locked<Int>

        init(_ number: Int, _ count: Locked<Int>) {
            (self.number, self.count) = (number, count)
            count.withLock { $0 += 1 }
        }

        deinit { count.withLock { $0 -= 1 } }
    }

    /// A holder of a reference that several tasks share.
    private final class Holder: Sendable {
        let reference = LazyReference<Counted>()
    }

    @Test func theFirstObjectStays() {
        let count = Locked(0)
        do {
            let holder = Holder()
            #expect(holder.reference.load() == nil)
            #expect(holder.reference.storeIfNil(Counted(1, count)).number == 1)
            #expect(holder.reference.storeIfNil(Counted(2, count)).number == 1)
            #expect(holder.reference.load()?.number == 1)
            #expect(count.withLock { $0 } == 1)
        }
        #expect(count.withLock { $0 } == 0)
    }

    @Test func allThreadsGetTheSameObject() async {
        let count = Locked(0)
        for _ in 0..<200 {
            let holder = Holder()
            let numbers = await withTaskGroup { group in
                for number in 0..<4 {
                    group.addTask { holder.reference.storeIfNil(Counted(number, count)).number }
                }
                return await group.reduce(into: Set<Int>()) { $0.insert($1) }
            }
            #expect(numbers.count == 1 && numbers.first == holder.reference.load()?.number)
        }
        #expect(count.withLock { $0 } == 0)
    }
}
