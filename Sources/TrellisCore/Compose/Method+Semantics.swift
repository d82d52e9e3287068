package import HTTPTypes

extension HTTPRequest.Method {
    /// Whether the method is idempotent: sending a request twice has the effect of sending it once
    /// (RFC 9110, section 9.2.2; `QUERY` is safe by its definition).
    package var isIdempotent: Bool {
        switch rawValue {
        case "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "QUERY": true
        default: false
        }
    }

    /// The methods for which ``isIdempotent`` is `true`.
    package static let idempotentMethods = Set(
        ["DELETE", "GET", "HEAD", "OPTIONS", "PUT", "QUERY", "TRACE"].compactMap { HTTPRequest.Method($0) }
    ).filter(\.isIdempotent)

    /// Whether a request without a body states a length of zero, because servers expect a body with the method
    /// (RFC 9110, section 8.6).
    package var expectsContent: Bool {
        switch rawValue {
        // GET comes first, because it is the method of most requests.
        case "GET": false
        case "POST", "PUT", "PATCH": true
        default: false
        }
    }
}
