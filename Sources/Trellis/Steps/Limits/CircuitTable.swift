import CurlEngine

/// The circuits of all hosts of a session.
final class CircuitTable: Sendable {
    private let clock: any EngineClock
    private let circuits: Locked<HostTable<Circuit>>

    init(_ breaker: CircuitBreaker, clock: any EngineClock = MonotonicClock()) {
        self.clock = clock
        circuits = Locked(HostTable { Circuit(breaker) })
    }

    /// Asks whether a request may be sent to a host.
    ///
    /// - Returns: What ``leave(_:_:host:)`` is told what came of it with, which has to happen: the host may be left alone until
    ///   then.
    /// - Throws: The reason ``TrellisError/LimitFailure`` where it may not.
    func enter(host: String) throws(TrellisError) -> Circuit.Permit {
        let now = clock.now()
        switch circuits.withLock({ $0.withState(of: host, at: now) { $0.enter(at: now) } }) {
        case .admitted(let permit): return permit
        case .refused(let refusal):
            throw TrellisError(
                .limited(
                    .circuitOpen(
                        host: host, failures: refusal.failures, requests: refusal.requests,
                        nextAttempt: refusal.nextAttempt)))
        }
    }

    /// Tells what came of a request: `.neutral` for one that was cancelled, or never sent.
    func leave(_ permit: Circuit.Permit, _ outcome: CircuitBreaker.Outcome, host: String) {
        let now = clock.now()
        circuits.withLock { $0.withState(of: host, at: now) { $0.leave(permit, outcome, at: now) } }
    }
}
