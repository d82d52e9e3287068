import CurlEngine
import Synchronization

/// The sender of one call's events to the observers of a session.
package final class CallObserver: Sendable {
    private let hub: EventHub
    private let subject: EventSubject
    /// The instant of the call, from which the elapsed time of events is measured.
    private let start: EngineInstant
    private let clock: any EngineClock
    /// The number of the latest attempt.
    private let attempt = Atomic(1)

    /// - Parameter request: The request of the call, with its URL completed.
    init(hub: EventHub, id: UInt64, request: Request, clock: any EngineClock) {
        self.hub = hub
        subject = EventSubject(id: id, method: request.method, url: request.url)
        self.clock = clock
        start = clock.now()
    }

    /// Sets the number of the latest attempt.
    func begin(attempt number: Int) { attempt.store(number, ordering: .relaxed) }

    /// Sends an event to the observers.
    ///
    /// - Parameter number: The attempt that the event belongs to; the latest one by default.
    func tell(_ kind: consuming RequestEvent.Kind, attempt number: Int? = nil) {
        hub.emit(
            RequestEvent(
                of: subject, attempt: number ?? attempt.load(ordering: .relaxed),
                elapsed: clock.now().nanoseconds(since: start), kind: kind))
    }
}

extension CallObserver: ReadingObserver {
    /// Sends the event of a validation; `error` is `nil` if the response was accepted.
    package func didValidate(_ error: (any Error)?) { tell(.validated(error)) }

    /// Sends the event of a serialization; `error` is `nil` if it succeeded.
    package func didSerialize(in duration: Duration, _ error: (any Error)?) { tell(.serialized(duration, error)) }
}
