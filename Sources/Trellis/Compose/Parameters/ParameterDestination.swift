import HTTPTypes

/// The place in a request where encoded parameters go.
public enum ParameterDestination: Sendable, Hashable, CaseIterable {
    /// The query of the URL for `GET`, `HEAD` and `DELETE`, the body for every other method, `QUERY` too.
    case methodDependent
    /// The query of the URL, after the items that the query already has.
    case query
    /// The body, in place of an existing one. A `GET` request is sent with this body; `HEAD` and `TRACE` requests cannot have a
    /// body (RFC 9110, section 9.3), which is an error when the request is sent.
    case body

    /// Returns `true` if the parameters of a request with the method go into the query.
    func isQuery(for method: HTTPRequest.Method) -> Bool {
        switch self {
        case .query: true
        case .body: false
        case .methodDependent: method == .get || method == .head || method == .delete
        }
    }
}
