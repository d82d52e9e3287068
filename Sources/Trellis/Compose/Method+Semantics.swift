package import HTTPTypes

extension HTTPRequest.Method {
    /// Sending it twice has the effect of sending it once (RFC 9110, section 9.2.2; `QUERY` is safe by its definition).
    package var isIdempotent: Bool {
        switch rawValue {
        case "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "QUERY": true
        default: false
        }
    }

    /// All methods of which ``isIdempotent`` says so.
    package static let idempotentMethods = Set(
        ["DELETE", "GET", "HEAD", "OPTIONS", "PUT", "QUERY", "TRACE"].compactMap { HTTPRequest.Method($0) }
    ).filter(\.isIdempotent)

    /// A request without content still says so, because a server expects some (RFC 9110, section 8.6).
    var expectsContent: Bool {
        switch rawValue {
        case "POST", "PUT", "PATCH": true
        default: false
        }
    }
}
