import HTTPTypes

/// Where encoded parameters go.
public enum ParameterDestination: Sendable, Hashable, CaseIterable {
    /// The query of the URL for `GET`, `HEAD` and `DELETE`, the body for every other method, `QUERY` too.
    case methodDependent
    /// The query of the URL, after what it has already.
    case query
    /// The body, instead of what it is. A `GET` with one is sent so; `HEAD` and `TRACE` cannot have one
    /// (RFC 9110, section 9.3), which is an error when the request is sent.
    case body

    /// Whether it is the query for a method.
    func isQuery(for method: HTTPRequest.Method) -> Bool {
        switch self {
        case .query: true
        case .body: false
        case .methodDependent: method == .get || method == .head || method == .delete
        }
    }
}
