import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// Random requests that enter and leave the queue, checked against its invariants.
struct SchedulerModelTests {
    @Test(arguments: 0..<40)
    func noLimitIsPassedNobodyIsForgottenAndNobodyIsServedTwice(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var limits = ConnectionLimits()
        limits.total = Int.random(in: 1...6, using: &random)
        limits.perOrigin = Int.random(in: 1...3, using: &random)
        if seed % 2 == 1 { limits.requestsPerOrigin = Int.random(in: 1...3, using: &random) }
        let perOrigin = min(limits.perOrigin, limits.requestsPerOrigin ?? .max)
        var queue = NamedScheduler<Int>(limits: limits)
        var active: [(id: Int, origin: String)] = []
        var waiting: [(id: Int, origin: String)] = []
        var nextID = 0

        func admit(_ ids: [Int]) {
            for id in ids {
                guard let index = waiting.firstIndex(where: { $0.id == id }) else {
                    Issue.record("\(id) does not wait")
                    continue
                }
                let request = waiting.remove(at: index)
                #expect(!waiting[..<index].contains { $0.origin == request.origin }, "\(id) has overtaken another")
                active.append(request)
            }
        }

        for _ in 0..<300 {
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                nextID += 1
                let origin = ["a", "b", "c"][Int.random(in: 0..<3, using: &random)]
                let request = (nextID, origin)
                if queue.enter(nextID, origin: origin) { active.append(request) } else { waiting.append(request) }
            case 2 where !active.isEmpty:
                let gone = active.remove(at: Int.random(in: 0..<active.count, using: &random))
                admit(queue.release(gone.id, origin: gone.origin, isShared: false))
            case 3 where !waiting.isEmpty:
                let gone = waiting.remove(at: Int.random(in: 0..<waiting.count, using: &random))
                queue.leave(gone.id, origin: gone.origin)
            default: break
            }
            #expect(active.count <= limits.total)
            #expect(queue.waitingCount == waiting.count)
            for origin in ["a", "b", "c"] {
                let count = active.count { $0.origin == origin }
                #expect(count <= perOrigin)
                #expect(queue.activeCount(origin: origin) == count)
                let couldGo = active.count < limits.total && count < perOrigin
                #expect(!couldGo || !waiting.contains { $0.origin == origin }, "a slot is free while \(origin) waits")
            }
        }
    }

    /// The queue gives slots to the same requests in the same order as ``PlainAdmission``, multiplexing and probing included.
    @Test(arguments: 0..<UInt64(Scale.count(8, all: 60)))
    func slotsGoToTheSameRequestsInTheSameOrderAsByThePlainRules(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var limits = ConnectionLimits()
        limits.total = Int.random(in: 1...8, using: &random)
        limits.perOrigin = Int.random(in: 1...3, using: &random)
        if seed % 2 == 1 { limits.requestsPerOrigin = Int.random(in: 1...120, using: &random) }
        let origins = (0..<Int.random(in: 1...20, using: &random)).map { "\($0)" }
        var (queue, plain) = (NamedScheduler<Int>(limits: limits), PlainAdmission(limits: limits))
        var active: [(id: Int, origin: String)] = []
        var waiting: [(id: Int, origin: String)] = []

        func admit(_ ids: [Int]) {
            for id in ids {
                guard let index = waiting.firstIndex(where: { $0.id == id }) else { continue }
                active.append(waiting.remove(at: index))
            }
        }

        for id in 0..<600 {
            let comers = Int.random(in: 0..<3, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0, 1, 2:
                let origin = origins.randomElement(using: &random) ?? ""
                let mayShare = Bool.random(using: &random)
                var (admitted, expected): ([Int], [Int]) = ([], [])
                for number in 0...comers * 40 {
                    let comer = id * 1000 + number
                    if plain.enter(comer, origin: origin, mayShare: mayShare) { expected.append(comer) }
                    if queue.enter(comer, origin: origin, mayShare: mayShare) {
                        admitted.append(comer)
                        active.append((comer, origin))
                    } else {
                        waiting.append((comer, origin))
                    }
                }
                #expect(admitted == expected)
            case 3 where !active.isEmpty:
                let (gone, origin) = active.remove(at: Int.random(in: 0..<active.count, using: &random))
                let isShared = [true, false, nil].randomElement(using: &random) ?? nil
                let admitted = queue.release(gone, origin: origin, isShared: isShared)
                #expect(admitted == plain.release(gone, origin: origin, isShared: isShared))
                admit(admitted)
            case 4 where !active.isEmpty:
                let (explorer, origin) = active[Int.random(in: 0..<active.count, using: &random)]
                let isShared = Bool.random(using: &random)
                let admitted = queue.probed(explorer, origin: origin, isShared: isShared)
                #expect(admitted == plain.probed(explorer, origin: origin, isShared: isShared))
                admit(admitted)
            case 5 where !waiting.isEmpty:
                let (gone, origin) = waiting.remove(at: Int.random(in: 0..<waiting.count, using: &random))
                queue.leave(gone, origin: origin)
                plain.leave(gone, origin: origin)
            default: break
            }
            #expect(queue.waitingCount == waiting.count)
        }
    }
}
