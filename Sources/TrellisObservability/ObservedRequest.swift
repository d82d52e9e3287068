#if Observability
import HTTPTypes
import Trellis

/// A request on the wire, with the facts that its span, its metrics and its line in the log have in common.
struct ObservedRequest: Sendable {
    let request: Request
    /// The method if it is known, or else `_OTHER`.
    let method: String
    let server: ServerAddress
    /// The template of the URL; `nil` if there is none, or a redirect has led to another URL.
    let template: String?
    /// The number of requests that the call has sent before this one.
    let resendCount: Int
    /// The number of attempts before the one of the request.
    let retryCount: Int
    /// The number of redirects that led to the request.
    let redirectCount: Int
    let callID: UInt64

    init(_ request: Request, _ context: CallContext, resendCount: Int, _ settings: Observability) {
        self.request = request
        self.resendCount = resendCount
        method = settings.name(of: request.method)
        server = ServerAddress(of: request.url)
        redirectCount = context.redirects.count
        template = redirectCount == 0 ? request.urlTemplate : nil
        retryCount = context.attempt - 1
        callID = context.id
    }

    /// The method in a request line, if it is not one of the known ones; `nil` otherwise.
    var originalMethod: String? { method == otherValue ? request.method.rawValue : nil }

    /// The name of the request's span: the method, and the template of the URL if there is one.
    var spanName: String {
        let method = method == otherValue ? "HTTP" : method
        return template.map { "\(method) \($0)" } ?? method
    }

    /// The URL without its secrets. User information is `REDACTED:REDACTED`, as the conventions want it.
    var redactedURL: String { Self.redacted(request.url) }

    static func redacted(_ url: String) -> String {
        let redacted = URLRedaction.redact(url)
        guard URLRedaction.hasUserInformation(url), let colon = redacted.utf8.firstIndex(of: UInt8(ascii: ":")),
            redacted.utf8[colon...].starts(with: "://".utf8)
        else { return redacted }
        let start = redacted.utf8.index(colon, offsetBy: 3)
        return "\(redacted[..<start])REDACTED:REDACTED@\(redacted[start...])"
    }

    /// Returns a series of the request's metrics.
    func series(_ kind: Series.Kind) -> Series {
        Series(kind: kind, method: method, server: server, template: template ?? "")
    }
}

extension Observability {
    /// Returns the method as spans and metrics name it. Methods are case-sensitive (RFC 9110, section 9.1).
    func name(of method: HTTPRequest.Method) -> String {
        knownMethods.contains(method.rawValue) ? method.rawValue : otherValue
    }
}
#endif
