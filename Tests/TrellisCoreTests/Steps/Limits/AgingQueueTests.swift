import Testing
import TrellisTesting

@testable import TrellisCore

/// The order of a waiting line.
struct AgingQueueTests {
    /// Returns the identifiers in the order in which they leave the line.
    static func order(_ line: inout AgingQueue<Int>) -> [Int] {
        var order: [Int] = []
        while let id = line.next() { order.append(id) }
        return order
    }

    @Test func firstComeFirstServedAmongEquals() {
        var line = AgingQueue<Int>()
        for id in 0..<5 { line.enter(id) }
        line.leave(0)
        line.leave(3)
        #expect(line.count == 3)
        #expect(Self.order(&line) == [1, 2, 4])
        #expect(line.isEmpty)
        #expect(line.leave(1) == false)
    }

    @Test func theHigherPriorityGoesFirst() {
        var line = AgingQueue<Int>()
        for (id, priority) in [RequestPriority.low, .normal, .high, .low, .normal, .high].enumerated() {
            line.enter(id, priority)
        }
        #expect(Self.order(&line) == [2, 5, 1, 4, 0, 3])
    }

    @Test func nobodyWaitsForEver() {
        var line = AgingQueue<Int>()
        line.enter(100, .low)
        line.enter(50, .normal)
        line.enter(51, .normal)
        var order: [Int] = []
        for id in 0..<20 {
            line.enter(id, .high)
            if let next = line.next() { order.append(next) }
        }
        #expect(order == [0, 1, 2, 3, 4, 5, 6, 7, 50, 100, 8, 9, 10, 11, 12, 13, 14, 15, 51, 16])
    }

    @Test func whoComesBackWaitsAnew() {
        var line = AgingQueue<Int>()
        for id in 0..<3 { line.enter(id) }
        line.leave(0)
        line.enter(0)
        #expect(line.countAhead(of: 0) == 2)
        #expect(Self.order(&line) == [1, 2, 0])
    }

    @Test func theyKnowHowManyAreAhead() {
        var line = AgingQueue<Int>()
        for id in 0..<4 { line.enter(id) }
        line.enter(4, .low)
        line.enter(5, .high)
        #expect((0...5).map { line.countAhead(of: $0) } == [1, 2, 3, 4, 5, 0])
        #expect(line.countAhead(of: .high) == 1)
        #expect(line.countAhead(of: .normal) == 5)
        #expect(line.countAhead(of: .low) == 6)
        line.leave(0)
        _ = line.next()
        #expect((1...4).map { line.countAhead(of: $0) } == [0, 1, 2, 3])
        #expect(line.countAhead(of: 0) == nil)
    }

    @Test(arguments: 0..<20)
    func withOnePriorityItIsAQueue(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var line = AgingQueue<Int>()
        var model: [Int] = []
        for id in 0..<2000 {
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1, 2:
                line.enter(id, .high)
                model.append(id)
            case 3 where !model.isEmpty: #expect(line.next() == model.removeFirst())
            default:
                guard let leaver = model.randomElement(using: &random) else { continue }
                #expect(line.leave(leaver) == true)
                model.removeAll { $0 == leaver }
            }
            #expect(line.count == model.count)
        }
        #expect(Self.order(&line) == model)
    }

    /// Waiters that leave the line free their entries, also behind a head that never advances, for example to a dead origin.
    @Test func whoLeavesBehindAHeadThatNeverGoesLeavesNothingBehind() {
        var line = AgingQueue<Int>()
        line.enter(-1)
        for id in 0..<10_000 {
            line.enter(id)
            line.leave(id)
        }
        #expect(line.spotCount <= 100)
        for id in 0..<1000 { line.enter(id) }
        for id in 100..<1000 { line.leave(id) }
        #expect(line.spotCount <= 300)
        #expect(Self.order(&line) == [-1] + Array(0..<100))
        #expect(line.spotCount == 0)
    }

    /// A ticket of another queue displaces no member.
    @Test func aTicketThatAnotherMemberHasIsNotUsed() {
        var line = AgingQueue<Int>()
        for id in 0..<3 { line.enter(id) }
        line.enter(7, rank: RequestPriority.normal.rank, ticket: 2)
        #expect(Self.order(&line) == [0, 1, 2, 7])
    }

    @Test func whoEntersTwiceWaitsOnceAtTheEnd() {
        var line = AgingQueue<Int>()
        for id in [0, 1, 0] { line.enter(id) }
        #expect(line.count == 2)
        #expect(line.countAhead(of: 0) == 1)
        #expect(Self.order(&line) == [1, 0])
    }
}

extension AgingQueue {
    /// The number of spots in memory, vacated spots included.
    fileprivate var spotCount: Int { lanes.reduce(0) { $0 + $1.spots.count } }
}
