import CurlEngine

/// Leaves a host alone for a while that answers nothing but errors.
///
/// ```swift
/// configuration.steps.circuitBreaker = CircuitBreaker()
/// ```
///
/// A host's circuit is closed as long as it is well. When ``minimumRequests`` and more were sent to it within ``window``, and
/// ``failureRatio`` of them failed, the circuit opens: for ``openDuration`` every request to the host fails at once with
/// ``TrellisError/Kind/circuitOpen``. Then one request is let through. If it succeeds the circuit closes, with a clean record; if
/// it fails, the circuit stays open for the same time again.
///
/// Failures are connections that do not come about or are lost, a server that is silent, and the statuses 500, 502, 503 and 504.
/// Any other answer is a success, a 404 or a 429 included; a stream has succeeded when its head has come. The end of the call's
/// own time (``Timeouts/total``) is a failure where it finds the request on the wire without an answer, however much of that
/// time was the host's. What says nothing about the host counts as neither: a cancellation, and the end of the call's time
/// before the request went out or while the body of the answer was coming.
///
/// ``RequestEvent/Kind/circuitOpened(host:for:)`` and ``RequestEvent/Kind/circuitClosed(host:)`` tell of it.
///
/// It counts what is on the wire: each retry, hedge and redirect for itself. It belongs to whoever holds it: sessions that are
/// made with the same one know the same about their hosts.
public final class CircuitBreaker: Sendable {
    /// Which part of the requests has to fail.
    public var failureRatio: Double { rules.failureRatio }
    /// How many requests there have to be before a part of them means anything.
    public var minimumRequests: Int { rules.minimumRequests }
    /// How long requests count.
    public var window: Duration { rules.window }
    /// How long a circuit stays open.
    public var openDuration: Duration { rules.openDuration }

    private let rules: CircuitRules
    private let circuits: Locked<HostTable<Circuit>>

    /// A breaker of closed circuits.
    ///
    /// - Parameters:
    ///   - failureRatio: which part of the requests has to fail; a half unless given.
    ///   - minimumRequests: how many requests there have to be before a part of them means anything; 20 unless given.
    ///   - window: how long requests count; 10 s unless given.
    ///   - openDuration: how long a circuit stays open; 5 s unless given.
    public convenience init(
        failureRatio: Double = 0.5, minimumRequests: Int = 20, window: Duration = .seconds(10),
        openDuration: Duration = .seconds(5)
    ) {
        self.init(
            CircuitRules(
                failureRatio: failureRatio, minimumRequests: minimumRequests, window: window, openDuration: openDuration
            ))
    }

    init(_ rules: CircuitRules) {
        self.rules = rules
        circuits = Locked(HostTable { Circuit(rules) })
    }

    /// Hosts that something is known about.
    var hostCount: Int { circuits.withLock { $0.count } }

    /// Looks whether a request may be sent to a host, without sending it.
    ///
    /// - Throws: The reason ``TrellisError/LimitFailure`` where it may not.
    @inline(never)
    func check(host: String, at now: EngineInstant) throws {
        if let refusal = refusal(host: host, at: now) { throw Self.error(refusal, host) }
    }

    /// Why a request may not be sent to a host; `nil` where it may.
    func refusal(host: String, at now: EngineInstant) -> Circuit.Refusal? {
        circuits.withLock { $0.withState(of: host, at: now) { $0.refusal(at: now) } }
    }

    /// Asks whether a request may be sent to a host.
    ///
    /// - Returns: What ``leave(_:_:host:at:)`` is told what came of it with, which has to happen: the host may be left alone
    ///   until then.
    /// - Throws: The reason ``TrellisError/LimitFailure`` where it may not.
    @inline(never)
    func enter(host: String, at now: EngineInstant) throws -> Circuit.Permit {
        switch circuits.withLock({ $0.withState(of: host, at: now) { $0.enter(at: now) } }) {
        case .admitted(let permit): return permit
        case .refused(let refusal): throw Self.error(refusal, host)
        }
    }

    /// Tells what came of a request: `.neutral` for one that was cancelled, or never sent.
    ///
    /// - Returns: What that has changed.
    @discardableResult
    func leave(_ permit: Circuit.Permit, _ outcome: Outcome, host: String, at now: EngineInstant) -> Circuit.Change? {
        circuits.withLock { $0.withState(of: host, at: now) { $0.leave(permit, outcome, at: now) } }
    }

    @inline(never)
    private static func error(_ refusal: Circuit.Refusal, _ host: String) -> TrellisError {
        TrellisError(
            .limited(
                .circuitOpen(
                    host: host, failures: refusal.failures, requests: refusal.requests,
                    nextAttempt: refusal.nextAttempt)))
    }
}

/// When a circuit opens, and for how long.
struct CircuitRules: Sendable, Hashable {
    var failureRatio = 0.5
    var minimumRequests = 20
    var window = Duration.seconds(10)
    var openDuration = Duration.seconds(5)
}
