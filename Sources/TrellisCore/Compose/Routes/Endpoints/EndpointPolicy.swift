public import HTTPTypes

/// The way in which one of several endpoints is chosen for a request. ``Endpoint/weight`` counts in each.
public enum EndpointPolicy: Sendable {
    /// One after the other. A heavier endpoint comes more often, spread over the round.
    case roundRobin
    /// The endpoint with the fewest requests in flight for its weight; of several, one after the other.
    case leastRequests
    /// The one with fewer requests in flight for its weight, of two that are drawn by weight. Nearly as even as ``leastRequests``, and many
    /// clients that see the same servers do not all choose the same one.
    case powerOfTwoChoices
    /// The same endpoint for requests with the same key, as long as the endpoint may get requests (rendezvous hashing). If one of `n`
    /// leaves, its keys alone move, about 1/`n` of all. Requests without a key are sent as with ``powerOfTwoChoices``.
    case sticky(by: EndpointKey)
}

extension EndpointPolicy: CustomStringConvertible {
    /// The policy as it is written, without the source of a key.
    public var description: String {
        switch self {
        case .roundRobin: "roundRobin"
        case .leastRequests: "leastRequests"
        case .powerOfTwoChoices: "powerOfTwoChoices"
        case .sticky: "sticky"
        }
    }
}

/// The source of the key by which requests stay with an endpoint (``EndpointPolicy/sticky(by:)``). The key of a request itself goes before
/// it (``Request/endpointKey``).
public struct EndpointKey: Sendable {
    /// Requests have a key only if they say so: ``Request/endpointKey``.
    public static let request = EndpointKey { _ in nil }

    private let body: @Sendable (Request) -> String?

    /// Creates the source of keys from a function, which is called for each request on the wire, and must not wait.
    ///
    /// - Parameter body: Returns the key of a request, as its adapters have left it and without the session's default fields; `nil` if it
    ///   has none.
    public init(_ body: @escaping @Sendable (Request) -> String?) { self.body = body }

    /// Returns the source whose keys are the values of a field.
    public static func header(_ name: HTTPField.Name) -> EndpointKey { EndpointKey { $0.headers[name] } }

    /// Returns the key of a request, if it has one.
    func key(of request: Request) -> String? { request.endpointKey ?? body(request) }
}

extension Request {
    /// The key by which requests stay with an endpoint; `nil`, the default, if the rule of the pool gives one
    /// (``EndpointPolicy/sticky(by:)``). It is not sent.
    public var endpointKey: String? {
        get { extras?.extras.endpointKey }
        set { changeExtras { $0.endpointKey = newValue } }
    }

    /// Returns a copy with a key by which it stays with an endpoint: see ``endpointKey``.
    public func withEndpointKey(_ key: String?) -> Request { setting(\.endpointKey, to: key) }
}
