import CurlEngine

/// A circuit breaker: it stops requests to a host that only fails, and tries again after a while.
///
/// ```swift
/// configuration.steps.circuitBreaker = CircuitBreaker()
/// ```
///
/// A circuit opens when at least ``minimumRequests`` went to the host within ``window`` and ``failureRatio`` of them failed. For
/// ``openDuration``, every request to the host fails at once with ``TrellisError/Kind/circuitOpen``. Then one request is let through: its
/// success closes the circuit, and its failure keeps it open for as long again.
///
/// Failures are connections that cannot be made or are lost, silent servers, the statuses 500, 502, 503 and 504, and a call's deadline
/// (``Timeouts/total``) while its request connects or waits for a response. Any other response is a success; a stream succeeds with its
/// head. A cancellation counts as neither, and neither does a deadline in the queue or during the body.
///
/// Each retry, hedge and redirect counts. Sessions with the same breaker share its circuits. ``RequestEvent/Kind/circuitOpened(host:for:)``
/// and ``RequestEvent/Kind/circuitClosed(host:)`` report changes.
public final class CircuitBreaker: Sendable {
    /// The ratio of requests that must fail before a circuit opens, from 0 to 1. The default is 0.5.
    public var failureRatio: Double { rules.failureRatio }
    /// The number of requests within the window below which the ratio means nothing. The default is 20.
    public var minimumRequests: Int { rules.minimumRequests }
    /// The length of time for which requests count. The default is 10 seconds.
    public var window: Duration { rules.window }
    /// The length of time for which a circuit stays open. The default is 5 seconds.
    public var openDuration: Duration { rules.openDuration }

    private let rules: CircuitRules
    private let circuits: Locked<HostTable<Circuit>>

    /// Creates a breaker with closed circuits.
    ///
    /// - Parameters:
    ///   - failureRatio: The ratio of requests that must fail before a circuit opens; a half unless given.
    ///   - minimumRequests: The number of requests below which the ratio means nothing; 20 unless given.
    ///   - window: The length of time for which requests count; 10 s unless given.
    ///   - openDuration: The length of time for which a circuit stays open; 5 s unless given.
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

    /// The number of hosts with a circuit.
    var hostCount: Int { circuits.withLock { $0.count } }

    /// Checks whether a request may be sent to a host, without admitting it.
    ///
    /// - Throws: The reason ``TrellisError/LimitFailure`` if the request may not be sent.
    @inline(never)
    func check(host: String, at now: EngineInstant) throws {
        if let refusal = refusal(host: host, at: now) { throw Self.error(refusal, host) }
    }

    /// Returns the reason why a request may not be sent to a host; `nil` if it may.
    func refusal(host: String, at now: EngineInstant) -> Circuit.Refusal? {
        circuits.withLock { $0.withState(of: host, at: now) { $0.refusal(at: now) } }
    }

    /// Admits a request to a host.
    ///
    /// - Returns: The permit to report the outcome with, by ``leave(_:_:host:at:)``. The outcome must be reported: a circuit
    ///   that is tested admits no other request until then, or until the open duration has passed.
    /// - Throws: The reason ``TrellisError/LimitFailure`` if the request may not be sent.
    @inline(never)
    func enter(host: String, at now: EngineInstant) throws -> Circuit.Permit {
        switch circuits.withLock({ $0.withState(of: host, at: now) { $0.enter(at: now) } }) {
        case .admitted(let permit): return permit
        case .refused(let refusal): throw Self.error(refusal, host)
        }
    }

    /// Admits a request to the host of a URL, as ``enter(host:at:)`` does.
    ///
    /// - Returns: The permit, and the host.
    @inline(never)
    func enter(hostIn url: String, at now: EngineInstant) throws -> (permit: Circuit.Permit, host: String) {
        let (entry, host) = circuits.withLock { $0.withState(ofHostIn: url, at: now) { $0.enter(at: now) } }
        switch entry {
        case .admitted(let permit): return (permit, host)
        case .refused(let refusal): throw Self.error(refusal, host)
        }
    }

    /// Records the outcome of a request: `.neutral` for a request that was cancelled, or never sent.
    ///
    /// - Returns: The change of the circuit, if there is one.
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

/// The rules for opening a circuit, and for the time that it stays open.
struct CircuitRules: Sendable, Hashable {
    var failureRatio = 0.5
    var minimumRequests = 20
    var window = Duration.seconds(10)
    var openDuration = Duration.seconds(5)
}
