import Testing

@testable import TrellisCore

/// The queue keeps no reference to a member that has left.
struct AgingQueueReferenceTests {
    private final class Member: Hashable, Sendable {
        static func == (left: Member, right: Member) -> Bool { left === right }
        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    }

    @Test func aMemberThatWasServedOrHasLeftIsReleased() {
        var queue = AgingQueue<Member>()
        weak var served: Member?
        weak var gone: Member?
        do {
            let (first, second, third) = (Member(), Member(), Member())
            for member in [first, second, third] { queue.enter(member) }
            (served, gone) = (first, second)
            #expect(queue.next() === first)
            queue.leave(second)
        }
        #expect(queue.count == 1)
        #expect(served == nil)
        #expect(gone == nil)
    }
}
