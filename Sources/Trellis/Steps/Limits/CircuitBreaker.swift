/// Leaves a host alone for a while that answers nothing but errors.
///
/// A host's circuit is closed as long as it is well. When ``minimumRequests`` and more were sent to it within ``window``, and
/// ``failureRatio`` of them failed, the circuit opens: for ``openDuration`` every request to the host fails at once with
/// ``TrellisError/Kind/circuitOpen``. Then one request is let through. If it succeeds the circuit closes, with a clean record; if
/// it fails, the circuit stays open for the same time again.
///
/// Failures are connections that do not come about or are lost, a server that is silent, and the statuses 500, 502, 503 and 504.
/// Any other answer is a success, a 404 or a 429 included. What says nothing about the host, such as a cancellation, counts as
/// neither.
public struct CircuitBreaker: Sendable, Hashable {
    /// Which part of the requests has to fail: a half unless set.
    public var failureRatio = 0.5
    /// How many requests there have to be before a part of them means anything: 20 unless set.
    public var minimumRequests = 20
    /// How long requests count: 10 s unless set.
    public var window = Duration.seconds(10)
    /// How long a circuit stays open: 5 s unless set.
    public var openDuration = Duration.seconds(5)

    /// The defaults.
    public init() {}
}

extension CircuitBreaker {
    /// What an attempt says about its host.
    enum Outcome: Sendable, Hashable {
        case success
        case failure
        /// Nothing.
        case neutral

        /// What an answer or an error says.
        init(status: Int?, error: (any Error)?) {
            guard let error else {
                self = status.map { [500, 502, 503, 504].contains($0) ? .failure : .success } ?? .neutral
                return
            }
            guard let error = error as? TrellisError else {
                self = .neutral
                return
            }
            switch error.reason {
            case .connectionFailed, .securityFailed(.handshake), .timedOut(.connect), .timedOut(.responseHead),
                .timedOut(.idle), .exchangeFailed, .invalidResponse(.bodyCutShort):
                self = .failure
            case .validationFailed(.status(let code)): self = Outcome(status: code, error: nil)
            case .invalidResponse, .validationFailed, .serializationFailed, .redirectFailed: self = .success
            default: self = .neutral
            }
        }
    }
}
