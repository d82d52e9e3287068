import Testing

@testable import TrellisCore

/// The queue of a monitor's events.
@Suite(.timeLimit(.minutes(3)))
struct EventQueueTests {
    private func event(_ number: UInt64) -> RequestEvent {
        RequestEvent(
            of: EventSubject(id: number, method: .get, url: "http://a.example/"), attempt: 1, elapsed: 0,
            kind: .admitted)
    }

    /// Takes all events that the queue has now.
    private func taken(_ queue: EventQueue) -> [UInt64] {
        var numbers: [UInt64] = []
        while let event = queue.next() { numbers.append(event.callID) }
        return numbers
    }

    @Test func aFullQueueDropsTheOldestEvents() {
        let queue = EventQueue(capacity: 3)
        #expect((1...5).map { queue.add(event($0)) } == [false, false, false, true, true])
        // The first event tells that events were dropped.
        #expect(taken(queue) == [0, 3, 4, 5])
    }

    /// The ring grows while it is in use, and its events stay in order.
    @Test func theOrderIsKeptWhileTheQueueGrows() {
        let queue = EventQueue(capacity: 100)
        var numbers: [UInt64] = []
        for number in 1...90 {
            _ = queue.add(event(UInt64(number)))
            if number.isMultiple(of: 3), let event = queue.next() { numbers.append(event.callID) }
        }
        #expect(numbers + taken(queue) == Array(1...90))
    }

    @Test func aTaskThatWaitsGetsTheNextEventAndTheEventsDuringItsRest() async {
        let queue = EventQueue(capacity: 100)
        let reader = Task {
            var numbers: [UInt64] = []
            repeat { numbers += taken(queue) } while await queue.wait()
            return numbers
        }
        for number in 1...20 {
            _ = queue.add(event(UInt64(number)))
            await Task.yield()
        }
        queue.finish()
        #expect(await reader.value == Array(1...20))
    }

    @Test func anEndedQueueTakesNoMoreEvents() async {
        let queue = EventQueue(capacity: 3)
        _ = queue.add(event(1))
        queue.finish()
        #expect(!queue.add(event(2)))
        #expect(await queue.wait())
        #expect(taken(queue) == [1])
        #expect(await !queue.wait())
    }

    @Test func aSmallQueueGivesOneEventAtATime() {
        let queue = EventQueue(capacity: 127)
        for number in 1...3 { _ = queue.add(event(UInt64(number))) }
        #expect(queue.nextEvents()?.map(\.callID) == [1])
        #expect(queue.nextEvents()?.map(\.callID) == [2])
    }

    /// Events that the task has taken and not handled yet count as events of the queue.
    @Test func aLargeQueueGivesSeveralEventsAndKeepsItsCapacity() {
        let queue = EventQueue(capacity: 128)
        for number in 1...128 { _ = queue.add(event(UInt64(number))) }
        #expect(queue.nextEvents()?.map(\.callID) == [1, 2])
        #expect([129, 130].map { queue.add(event($0)) } == [false, true])
        // The first event tells that an event was dropped.
        #expect(queue.nextEvents()?.map(\.callID) == [0])
        // The other event of the group was dropped.
        #expect(queue.nextEvents()?.map(\.callID) == [4])
        #expect(queue.nextEvents()?.map(\.callID) == [5, 6])
        #expect(queue.droppedCount == 1)
    }

    /// The queue, which keeps its events in groups, has the same events as a list.
    @Test(arguments: [1, 3, 64, 128, 200, 1000, 4096])
    func theQueueIsAList(_ capacity: Int) {
        let queue = EventQueue(capacity: capacity)
        var (list, ahead, untold, dropped, last) = ([UInt64](), 0, 0, 0, UInt64(0))
        var seed: UInt64 = 1
        for _ in 0..<5000 {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            switch seed >> 33 % 8 {
            case 0:
                ahead = 0
                let events = queue.nextEvents()?.map(\.callID)
                if untold > 0 {
                    #expect(events == [0])
                    untold = 0
                } else if let count = events?.count {
                    #expect(events == Array(list.prefix(count)))
                    #expect(count >= 1 && count <= max(capacity / 64, 1))
                    list.removeFirst(min(count, list.count))
                    ahead = count - 1
                } else {
                    #expect(list.isEmpty)
                }
            case 1:
                let event = queue.next()?.callID
                #expect(event == (untold > 0 ? 0 : list.first))
                if untold == 0, !list.isEmpty { list.removeFirst() }
                untold = 0
            default:
                last += 1
                let isFull = list.count + ahead >= capacity
                if isFull {
                    list = Array(list.dropFirst())
                    (untold, dropped) = (untold + 1, dropped + 1)
                }
                list.append(last)
                #expect(queue.add(event(last)) == isFull)
            }
        }
        #expect(queue.droppedCount == dropped)
    }

    @Test func theURLOfAnEventHasNoSecrets() {
        let subject = EventSubject(id: 1, method: .get, url: "http://u:p@a.example/?token=t&b=c")
        #expect(subject.url == "http://a.example/?token=REDACTED&b=c")
    }
}
