import Testing

@testable import Trellis

/// The queue of a monitor's events.
@Suite(.timeLimit(.minutes(1)))
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

    @Test func theURLOfAnEventHasNoSecrets() {
        let subject = EventSubject(id: 1, method: .get, url: "http://u:p@a.example/?token=t&b=c")
        #expect(subject.url == "http://a.example/?token=REDACTED&b=c")
    }
}
