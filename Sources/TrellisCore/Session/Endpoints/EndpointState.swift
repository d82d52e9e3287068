/// An endpoint of an origin, as a session knows it.
public struct EndpointState: Sendable, Hashable {
    /// The origin with its port, such as `https://orders.internal:443`.
    public let origin: String
    /// The endpoint.
    public let endpoint: Endpoint
    /// The number of requests that were sent to the endpoint and have not ended.
    public let inFlight: Int
    /// Whether the endpoint was ejected because of its failures, and has not returned.
    public let isEjected: Bool

    init(_ member: EndpointBalance.Member, of origin: String) {
        self.origin = origin
        (endpoint, inFlight, isEjected) = (member.endpoint, member.inFlight, member.health.isEjected)
    }
}
