import CurlEngine
import TrellisCore

/// A request that has matched a route of a ``MockRouter``, as the closures of the route get it.
public struct RouteMatch: Sendable {
    /// The request, with its body in memory.
    public let request: RecordedRequest
    /// The values of the variables in the path pattern, percent-decoded.
    public let parameters: [String: String]
    /// The number of the request on its route, from 1.
    public let count: Int

    /// The value of a variable in the path pattern, percent-decoded; `nil` if the pattern has no variable of that name.
    public subscript(name: String) -> String? { parameters[name] }
}

/// A request while it is compared with routes. Its parts are taken apart once.
final class RoutedRequest {
    let recorded: RecordedRequest
    /// The request as its transport got it.
    var transportRequest: TransportRequest { recorded.request }
    let path: String
    private(set) lazy var segments = PathPattern.segments(of: path)
    private(set) lazy var queryItems = recorded.query.map(URLBytes.items) ?? []

    init(_ recorded: RecordedRequest) {
        self.recorded = recorded
        path = recorded.path
    }

    /// The part of the URL before the path.
    var origin: String { recorded.request.wire.url.origin }
}
