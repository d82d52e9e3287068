#if Observability
import CurlEngine
import Trellis
import TrellisObservability
import TrellisTesting

extension Session {
    /// Creates an observed session.
    static func observed(
        _ transport: (any Transport)?, _ observability: Observability = Observability(),
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> Session {
        var configuration = SessionConfiguration()
        configuration.observe(with: observability)
        change(&configuration)
        return Session(configuration: configuration, transport: transport)
    }
}

extension Observability {
    /// The default observation with a change.
    static func with(_ change: (inout Observability) -> Void) -> Observability {
        var observability = Observability()
        change(&observability)
        return observability
    }
}

extension RetryPolicy {
    /// A policy that retries once, at once.
    static var once: RetryPolicy { RetryPolicy(retryLimit: 1, exponentialBackoffScale: .zero) }
}

extension MockTransport {
    /// Creates a transport whose responses have these statuses, one after the other; the last one is repeated.
    convenience init(statuses: [Int]) {
        self.init(responses: statuses.map { MockResponse(status: $0) })
    }
}
#endif
