import CurlEngine
import Synchronization

/// The sender of one call's events to the observers of a session, and to the monitors of the call's request.
package final class CallObserver: Sendable {
    private let hub: EventHub
    private let subject: EventSubject
    /// The observers of all calls when the call was made.
    private let known: EventHub.Known
    /// The observers of this call alone: the monitors of its request.
    private let own: [EventHub.Observer]
    /// The greatest detail that one of these observers gets; 0 if there are none.
    private let ownDetail: Int
    /// The instant of the call, from which the elapsed time of events is measured.
    private let start: EngineInstant
    private let clock: any EngineClock
    /// The number of the latest attempt.
    private let attempt = Atomic(1)
    private let counting = Atomic(Counting.notYet)

    /// Whether the call is one of the hub's ``EventHub/openCalls``: a handle's call may never be started.
    private enum Counting: UInt8, AtomicRepresentable {
        case notYet, counted, over
    }

    /// - Parameters:
    ///   - request: The request of the call, with its URL completed.
    ///   - monitors: The monitors of the request.
    init(hub: EventHub, id: UInt64, request: Request, monitors: [any EventMonitor] = [], clock: any EngineClock) {
        self.hub = hub
        let subject = EventSubject(id: id, method: request.method, url: request.url)
        self.subject = subject
        known = hub.known()
        own = monitors.map { hub.observer(for: $0, of: subject) }
        ownDetail = own.reduce(0) { max($0, $1.detail.rawValue) }
        self.clock = clock
        start = clock.now()
    }

    // No event follows: the call, its response and its readers have been released.
    deinit {
        close()
        for observer in own { observer.queue.finish() }
    }

    /// Counts the call as open. A session that ends waits until ``close()``, so that the observers get the result of the call.
    func open() {
        // Counted first: the call may be closed at any moment.
        hub.openCalls.enter()
        let isFirst = counting.compareExchange(expected: .notYet, desired: .counted, ordering: .relaxed).exchanged
        if !isFirst { hub.openCalls.leave() }
    }

    /// Ends the counting of the call, because its result was sent. Events about the reading of the response may follow.
    func close() {
        if counting.exchange(.over, ordering: .relaxed) == .counted { hub.openCalls.leave() }
    }

    /// Sets the number of the latest attempt.
    func begin(attempt number: Int) { attempt.store(number, ordering: .relaxed) }

    /// Returns whether an observer gets the events of a detail. The other events need not be made.
    func observes(_ detail: EventDetail) -> Bool { ownDetail >= detail.rawValue || hub.isObserved(in: detail) }

    /// Sends an event to the observers that get it.
    ///
    /// - Parameter number: The attempt that the event belongs to; the latest one by default.
    package func tell(_ kind: consuming RequestEvent.Kind, attempt number: Int? = nil) {
        let detail = kind.detail
        guard let origin = makeOrigin(in: detail, attempt: number) else { return }
        send(RequestEvent(origin, kind), in: detail)
    }

    /// Returns the origin of an event that happens now; `nil` if no observer gets the events of its detail.
    ///
    /// - Parameter number: The attempt that the event belongs to; `nil` for the latest one.
    @inline(__always)
    func makeOrigin(in detail: EventDetail, attempt number: Int?) -> EventOrigin? {
        guard observes(detail) else { return nil }
        return EventOrigin(
            subject: subject, attempt: number ?? attempt.load(ordering: .relaxed),
            elapsed: clock.now().nanoseconds(since: start))
    }

    /// Sends an event of a detail to the observers that get it.
    @inline(__always)
    func send(_ event: RequestEvent, in detail: EventDetail) {
        hub.emit(event, in: detail, to: known)
        guard ownDetail >= detail.rawValue else { return }
        for observer in own { hub.pass(event, in: detail, to: observer) }
    }
}

extension CallObserver: ReadingObserver {
    /// Sends the event of a validation by all conditions of a reader; `error` is `nil` if the response was accepted.
    package func didValidate(_ error: (any Error)?) { tell(.validated(error)) }

    /// Sends the event of a serialization; `error` is `nil` if it succeeded.
    package func didSerialize(in duration: Duration, _ error: (any Error)?) { tell(.serialized(duration, error)) }
}
