/// The state of a session, for health checks and for the end of a process; see ``Session/health``.
public enum SessionHealth: Sendable, Hashable {
    /// The session accepts requests.
    case running
    /// The session refuses new requests, because ``Session/shutdown(drainingFor:)`` was called, and has not ended.
    ///
    /// - Parameter requests: The number of ``Session/liveRequests`` that have not ended. The number may be zero: a download between two
    ///   of its requests, or connections that are being closed, have none.
    case draining(requests: Int)
    /// The session has ended: no request is in flight, and the connections and the threads are gone.
    case ended

    /// Whether the session accepts requests.
    public var acceptsRequests: Bool { self == .running }
}

extension SessionHealth: CustomStringConvertible {
    /// The state in words: `running`, `draining (2 requests)` or `ended`.
    public var description: String {
        switch self {
        case .running: "running"
        case .draining(let count): "draining (\(count) \(count == 1 ? "request" : "requests"))"
        case .ended: "ended"
        }
    }
}
