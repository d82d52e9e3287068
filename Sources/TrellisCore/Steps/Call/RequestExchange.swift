/// An exchange of a request: a request on the wire, in one of its attempts.
public struct RequestExchange: Sendable {
    /// The number of the attempt, from 1. Redirects belong to the attempt that received them.
    public let attempt: Int
    /// The request as it was sent.
    public var request: Request { prepared.request }
    /// The metrics of the exchange; for a stream, up to the head of its response.
    public let metrics: Metrics
    /// The request of the exchange, kept so that its identity stays its own.
    let prepared: PreparedRequest
}
