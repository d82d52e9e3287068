import CurlEngine
import Synchronization

/// Tells a session's observers about one call.
package final class CallObserver: Sendable {
    private let hub: EventHub
    private let id: UInt64
    private let start: EngineInstant
    private let clock: any EngineClock
    private let attempt = Atomic(1)

    init(hub: EventHub, id: UInt64, clock: any EngineClock) {
        self.hub = hub
        self.id = id
        self.clock = clock
        start = clock.now()
    }

    func begin(attempt number: Int) { attempt.store(number, ordering: .relaxed) }

    /// - Parameter number: The attempt it belongs to; the last one unless given.
    func tell(_ kind: RequestEvent.Kind, attempt number: Int? = nil) {
        hub.emit(
            RequestEvent(
                callID: id, attempt: number ?? attempt.load(ordering: .relaxed),
                elapsed: .nanoseconds(clock.now().nanoseconds(since: start)), kind: kind))
    }
}

extension CallObserver: ReadingObserver {
    package func didValidate(_ error: (any Error)?) { tell(.validated(error)) }

    package func didSerialize(in duration: Duration, _ error: (any Error)?) { tell(.serialized(duration, error)) }
}
