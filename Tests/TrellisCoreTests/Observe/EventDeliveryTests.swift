import CurlEngine
import FoundationEssentials
import TestSupport
import Testing
import TrellisTesting

@testable import TrellisCore

/// The events that each observer gets: those of its detail, and the number of those that it has lost.
@Suite(.timeLimit(.minutes(3)))
struct EventDeliveryTests {
    private static func event(_ number: UInt64) -> RequestEvent {
        RequestEvent(
            of: EventSubject(id: number, method: .get, url: "http://a.example/"), attempt: 1, elapsed: 0,
            kind: .admitted)
    }

    /// The numbers of events, and `lost N` for those that were lost.
    private static func name(_ event: RequestEvent) -> String {
        if case .eventsDropped(let count) = event.kind { return "lost \(count)" }
        return "\(event.callID)"
    }

    // MARK: Detail

    @Test func eachMonitorGetsTheEventsOfItsDetail() async throws {
        let monitors = EventDetail.allCases.map { EventWords($0) }
        var configuration = SessionConfiguration()
        configuration.eventMonitors = monitors
        let session = Session(configuration: configuration, transport: MockTransport { _ in .text("hello") })
        _ = try await session.data("http://a.example/")
        await session.shutdownAfterEvents()
        #expect(
            monitors.map(\.words) == [
                ["created", "finished 200"],
                ["created", "queued", "admitted", "head 200", "ended", "finished 200"],
                ["created", "queued", "admitted", "connected", "sent", "head 200", "ended", "finished 200"],
            ])
    }

    @Test(arguments: EventDetail.allCases)
    func eventsThatNoObserverGetsAreNotMade(_ detail: EventDetail) {
        let hub = EventHub(monitors: [EventWords(detail)], bufferSize: 10)
        let observer = CallObserver(
            hub: hub, id: 1, request: Request("http://a.example/"), clock: TestClock().engineSide)
        #expect(EventDetail.allCases.filter(observer.observes) == EventDetail.allCases.filter { $0 <= detail })
        do {
            let subscription = hub.subscribe()
            #expect(observer.observes(.connections))
            #expect(subscription.droppedCount == 0)
        }
        #expect(observer.observes(.connections) == (detail == .connections))
    }

    @Test func theDetailOfAMonitorOfSeveralIsTheGreatestOfThem() async {
        let monitors = [EventWords(.calls), EventWords(.exchanges)]
        let all = CompositeEventMonitor(monitors)
        #expect(all.eventDetail == .exchanges && CompositeEventMonitor([]).eventDetail == .calls)
        #expect(ClosureEventMonitor { _ in }.eventDetail == .connections)
        #expect(RequestLog().eventDetail == .calls && RequestLog(.headers).eventDetail == .connections)
        await all.handle(Self.event(1))
        await all.handle(RequestEvent(dropped: 3, of: nil))
        #expect(monitors.map(\.words) == [["dropped 3"], ["admitted", "dropped 3"]])
    }

    // MARK: Lost events

    @Test func anObserverIsToldOfLostEventsBeforeTheNextOne() {
        let queue = EventQueue(capacity: 3)
        func taken() -> [String] {
            var names: [String] = []
            while let event = queue.next() { names.append(Self.name(event)) }
            return names
        }
        for number in 1...5 { _ = queue.add(Self.event(UInt64(number))) }
        #expect(queue.next().map(Self.name) == "lost 2" && queue.next().map(Self.name) == "3")
        for number in 6...8 { _ = queue.add(Self.event(UInt64(number))) }
        #expect(taken() == ["lost 2", "6", "7", "8"])
        _ = queue.add(Self.event(9))
        #expect(taken() == ["9"])
        #expect(queue.droppedCount == 4)
    }

    @Test func lossesAreCountedForEachObserver() async throws {
        let gate = LoopbackServer.Gate(), hasBegun = LoopbackServer.Gate()
        let names = Locked<[String]>([])
        let slow = ClosureEventMonitor { event in
            hasBegun.open()
            try? await gate.opened()
            names.withLock { $0.append(Self.name(event)) }
        }
        let hub = EventHub(monitors: [slow], bufferSize: 3)
        let quick = hub.subscribe(), asleep = hub.subscribe()
        var read: [String] = []
        for number in 1...7 {
            hub.emit(Self.event(UInt64(number)), in: .exchanges)
            if let event = await quick.next() { read.append(Self.name(event)) }
            // The monitor has taken the first event, and the queue is empty.
            if number == 1 { try await hasBegun.opened() }
        }
        #expect(read == (1...7).map { "\($0)" } && quick.droppedCount == 0)
        #expect(asleep.droppedCount == 4 && hub.droppedCount == 3 + 4)
        gate.open()
        await hub.finish(within: .seconds(30))
        #expect(names.withLock { $0 } == ["1", "lost 3", "5", "6", "7"])
        for name in ["lost 4", "5", "6", "7"] { #expect(await asleep.next().map(Self.name) == name) }
    }

    /// One monitor waits in its first event, and the other one has room for all of them.
    @Test func theCountOfEachMonitorIsReadable() async throws {
        let gate = LoopbackServer.Gate(), hasBegun = LoopbackServer.Gate()
        let lost = Locked(0)
        let slow = ClosureEventMonitor { event in
            if case .eventsDropped(let count) = event.kind { lost.withLock { $0 += count } }
            hasBegun.open()
            try? await gate.opened()
        }
        let few = EventWords(.calls)
        var configuration = SessionConfiguration()
        (configuration.eventMonitors, configuration.eventBufferSize) = ([few, slow], 2)
        let session = Session(configuration: configuration, transport: MockTransport { _ in .text("hello") })
        _ = try await session.data("http://a.example/")
        try await hasBegun.opened()
        _ = try await session.data("http://a.example/")
        await session.settle()
        let counts = session.droppedEventCounts
        gate.open()
        await session.shutdownAfterEvents()
        #expect(counts.count == 2 && counts[1] > 0)
        #expect(session.droppedEventCounts[1] == lost.withLock { $0 })
        #expect(session.droppedEventCounts.reduce(0, +) == session.droppedEventCount)
    }

    @Test func theSumAndTheCountOfASequenceAreReadable() async throws {
        var configuration = SessionConfiguration()
        configuration.eventBufferSize = 3
        let session = Session(configuration: configuration, transport: MockTransport { _ in .text("hello") })
        let events = session.requestEvents
        _ = try await session.data("http://a.example/")
        await session.settle()
        #expect(events.droppedEventCount == 5 && session.droppedEventCount == 5)
        var iterator = events.makeAsyncIterator()
        let lost = try #require(await iterator.next())
        #expect(lost.word == "dropped 5" && lost.callID == 0 && lost.url.isEmpty && lost.elapsed == .zero)
        #expect(await iterator.next()?.word == "head 200")
    }

    @Test func theLogTellsOfLostLines() async throws {
        let gate = LoopbackServer.Gate(), lines = Locked<[String]>([])
        var configuration = SessionConfiguration()
        configuration.eventBufferSize = 2
        configuration.eventMonitors = [
            RequestLog { line in
                try? await gate.opened()
                lines.withLock { $0.append(line) }
            }
        ]
        let session = Session(configuration: configuration, transport: MockTransport { _ in .text("hello") })
        for _ in 0..<3 { _ = try await session.data("http://a.example/") }
        gate.open()
        await session.shutdownAfterEvents()
        let lost = session.droppedEventCount
        #expect(lost > 0)
        let told = lines.withLock { $0 }.compactMap { line in
            line.wholeMatch(of: #/lost (\d+) events?, because this log was too slow/#).flatMap { Int($0.output.1) }
        }
        #expect(told.reduce(0, +) == lost)
    }

    // MARK: Readers of the sequence

    /// A call keeps the observers of its beginning, and notices that there are others.
    @Test func aReaderThatArrivesDuringACallGetsItsNextEvents() async {
        let hub = EventHub(monitors: [], bufferSize: 10)
        let observer = CallObserver(
            hub: hub, id: 1, request: Request("http://a.example/"), clock: TestClock().engineSide)
        let subscription = hub.subscribe()
        observer.tell(.admitted)
        subscription.end()
        let event = await subscription.next()
        #expect(event?.callID == 1)
    }

    /// A call that lasts long knows the queue of each reader that was there when it was made.
    @Test func aCallDoesNotKeepTheEventsOfAReaderThatHasLeft() {
        final class Cause: Error {}
        let hub = EventHub(monitors: [], bufferSize: 10)
        var subscription: EventSubscription? = hub.subscribe()
        let observer = CallObserver(
            hub: hub, id: 1, request: Request("http://a.example/"), clock: TestClock().engineSide)
        weak var kept: Cause?
        do {
            let cause = Cause()
            kept = cause
            observer.tell(.failed(cause))
        }
        withExtendedLifetime(subscription) { #expect(kept != nil) }
        subscription = nil
        #expect(kept == nil)
        withExtendedLifetime(observer) {}
    }

    @Test func aReaderWhoseTaskIsCancelledLeaves() async {
        let session = Session(transport: MockTransport { _ in .text("hello") })
        let events = session.requestEvents
        let hasBegun = LoopbackServer.Gate()
        let task = Task {
            hasBegun.open()
            for await _ in events {}
            return true
        }
        try? await hasBegun.opened()
        task.cancel()
        #expect(await task.value)
        #expect(!session.hub.isObserved)
        var iterator = events.makeAsyncIterator()
        #expect(await iterator.next() == nil)
    }

    @Test func theSequenceEndsWithItsSession() async throws {
        var session: Session? = Session(transport: MockTransport { _ in .text("hello") })
        let events = try #require(session?.requestEvents)
        let task = Task { await events.reduce(into: 0) { count, _ in count += 1 } }
        _ = try await session?.data("http://a.example/")
        session = nil
        #expect(await task.value == 8)
    }

    /// The session is still held. A reader gets the end of the request that the shutdown ends, and a later reader gets nothing.
    @Test func theSequenceEndsWithTheShutdown() async throws {
        let scripted = Scripted()
        let events = scripted.session.requestEvents
        let reading = Task { await events.reduce(into: [String]()) { $0.append($1.word) } }
        let request = scripted.session.request("http://localhost/")
        request.resume()
        try await scripted.transport.nextAttempt().connect()
        await scripted.session.shutdown()
        #expect(await reading.value.suffix(2) == ["ended cancelled", "failed cancelled"])
        withExtendedLifetime(request) {}
        #expect(!scripted.session.hub.isObserved)
        var late = scripted.session.requestEvents.makeAsyncIterator()
        #expect(await late.next() == nil)
        #expect(!scripted.session.hub.isObserved)
    }

    @Test func twoReadersOfOneSequenceShareItsEvents() async {
        let hub = EventHub(monitors: [], bufferSize: 100)
        let subscription = hub.subscribe()
        let readers = (0..<2).map { _ in
            Task {
                var numbers: [UInt64] = []
                while let event = await subscription.next() { numbers.append(event.callID) }
                return numbers
            }
        }
        for number in 1...50 {
            hub.emit(Self.event(UInt64(number)), in: .calls)
            await Task.yield()
        }
        var numbers: [UInt64] = []
        withExtendedLifetime(hub) {}
        subscription.end()
        for reader in readers { numbers += await reader.value }
        #expect(numbers.sorted() == Array(1...50))
    }
}
