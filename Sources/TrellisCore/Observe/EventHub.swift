import CurlEngine
import Synchronization

/// The distribution of a session's events to its observers. A session without observers only checks a flag for each call.
final class EventHub: Sendable {
    /// An observer: a monitor, or the reader of a sequence.
    struct Observer: Sendable {
        let id: Int
        let queue: EventQueue
        /// The detail of the events that the observer gets.
        let detail: EventDetail
    }

    private struct State {
        /// The observers of all calls, in the order of their arrival.
        var observers: [Observer] = []
        /// The number of the newest observer.
        var last = 0
        /// Whether the session has ended, so that no observer is added.
        var hasEnded = false

        /// The number of changes of the observers.
        var version = 0

        /// The greatest detail that an observer gets; 0 if there are no observers.
        var detail: Int { observers.reduce(0) { max($0, $1.detail.rawValue) } }
    }

    /// The observers of all calls at one time, kept by each call, so that its events do not take the lock while they stay the same.
    struct Known: Sendable {
        fileprivate let version: Int
        fileprivate let observers: [Observer]
    }

    /// The delivery of a queue's events to a monitor.
    private struct Monitoring {
        let queue: EventQueue
        let task: Task<Void, Never>
    }

    private let state = Locked(State())
    /// The greatest detail that an observer of all calls gets, readable without the lock; 0 if there are no observers.
    private let detail = Atomic(0)
    /// The number of changes of the observers of all calls, readable without the lock.
    private let version = Atomic(0)
    private let dropped = Atomic(0)
    /// The calls that have observers and have not sent the event of their result.
    let openCalls = OpenCalls()
    /// The number of events that are kept for each observer; at least 1.
    private let bufferSize: Int
    /// The queues of the monitors of all calls, in the order of the configuration.
    private let monitorQueues: [EventQueue]
    /// The deliveries to monitors, of all calls or of one, by the number of the observer.
    private let deliveries = Locked<[Int: Monitoring]>([:])

    init(monitors: [any EventMonitor], bufferSize: Int) {
        self.bufferSize = max(bufferSize, 1)
        monitorQueues = monitors.map { _ in EventQueue(capacity: bufferSize) }
        for (monitor, queue) in zip(monitors, monitorQueues) {
            deliver(queue, to: monitor, as: add(queue, monitor.eventDetail))
        }
    }

    deinit { for observer in state.withLock({ $0.observers }) { observer.queue.finish() } }

    /// Whether there are observers of all calls.
    var isObserved: Bool { detail.load(ordering: .relaxed) > 0 }

    /// Returns whether there are observers of all calls that get events of a detail.
    func isObserved(in detail: EventDetail) -> Bool { self.detail.load(ordering: .relaxed) >= detail.rawValue }

    /// The number of events that were dropped because an observer was too slow: the sum for all observers.
    var droppedCount: Int { dropped.load(ordering: .relaxed) }

    /// The number of events that were dropped for each monitor of all calls, in the order of the configuration.
    var droppedCounts: [Int] { monitorQueues.map(\.droppedCount) }

    /// Returns a subscription to the events from now on, which has ended if the session has. If its reader is slow, the newest events
    /// are kept.
    func subscribe() -> EventSubscription {
        let queue = EventQueue(capacity: bufferSize, isForMonitor: false)
        let id = add(queue, .connections)
        return EventSubscription(queue) { [weak self] in self?.remove(id) }
    }

    /// Creates the observer for a monitor of one call. The observer ends when its queue is ended.
    func observer(for monitor: any EventMonitor, of subject: EventSubject) -> Observer {
        let queue = EventQueue(capacity: bufferSize, of: subject)
        let id = state.withLock { state in
            state.last += 1
            return state.last
        }
        deliver(queue, to: monitor, as: id)
        return Observer(id: id, queue: queue, detail: monitor.eventDetail)
    }

    /// Delivers the events of a queue to a monitor, one after the other, in a separate task.
    private func deliver(_ queue: EventQueue, to monitor: any EventMonitor, as id: Int) {
        let task = Task.detached { [weak self] in
            repeat {
                while let events = queue.nextEvents() {
                    for event in events { await monitor.handle(event) }
                }
            } while await queue.wait()
            self?.deliveries.withLock { $0[id] = nil }
        }
        deliveries.withLock { $0[id] = Monitoring(queue: queue, task: task) }
    }

    /// Adds an observer of all calls, and returns its number. After the end of the session, ends the queue instead.
    private func add(_ queue: EventQueue, _ detail: EventDetail) -> Int {
        let (id, hasEnded) = state.withLock { state in
            state.last += 1
            if !state.hasEnded {
                state.observers.append(Observer(id: state.last, queue: queue, detail: detail))
                publish(&state)
            }
            return (state.last, state.hasEnded)
        }
        if hasEnded { queue.finish() }
        return id
    }

    private func remove(_ id: Int) {
        state.withLock { state in
            state.observers.removeAll { $0.id == id }
            publish(&state)
        }
    }

    /// Makes a change of the observers readable without the lock. Called with the lock.
    private func publish(_ state: inout State) {
        state.version += 1
        version.store(state.version, ordering: .relaxed)
        detail.store(state.detail, ordering: .relaxed)
    }

    /// Returns the observers of all calls.
    func known() -> Known { state.withLock { Known(version: $0.version, observers: $0.observers) } }

    /// Waits until the calls that have observers have sent the events of their results, ends all observers with the session, and waits
    /// until the monitors have handled their events, at most for `limit` each. The readers of sequences read the events that they have,
    /// too.
    func finish(within limit: Duration, on clock: any EngineClock = MonotonicClock.system) async {
        await openCalls.end(within: limit, on: clock)
        let observers = state.withLock { state in
            state.hasEnded = true
            defer {
                state.observers = []
                publish(&state)
            }
            return state.observers
        }
        for observer in observers { observer.queue.finish() }
        let ending = deliveries.withLock { deliveries in
            defer { deliveries = [:] }
            return deliveries
        }
        // The monitors of single requests are no observers of all calls.
        for delivery in ending.values { delivery.queue.finish() }
        await waitForEnd(of: ending.values.map(\.task), within: limit, on: clock)
    }

    /// Sends an event of a detail to all observers of all calls that get it.
    func emit(_ event: RequestEvent, in detail: EventDetail) {
        for observer in state.withLock({ $0.observers }) { pass(event, in: detail, to: observer) }
    }

    /// Sends an event of a detail to all observers of all calls that get it.
    ///
    /// - Parameter known: The observers at an earlier time.
    @inline(__always)
    func emit(_ event: RequestEvent, in detail: EventDetail, to known: Known) {
        guard version.load(ordering: .relaxed) == known.version else { return emit(event, in: detail) }
        for index in known.observers.indices { pass(event, in: detail, to: known.observers[index]) }
    }

    /// Passes an event of a detail to an observer, if the observer gets it.
    func pass(_ event: RequestEvent, in detail: EventDetail, to observer: Observer) {
        guard observer.detail >= detail else { return }
        if observer.queue.add(event) { dropped.add(1, ordering: .relaxed) }
    }
}
