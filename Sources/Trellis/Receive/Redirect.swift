public import HTTPTypes

/// A redirect that was followed on the way to an answer.
public struct Redirect: Sendable, Hashable {
    /// The status of the response that redirected.
    public let status: HTTPResponse.Status
    /// The URL that was requested.
    public let from: String
    /// The URL that was requested next.
    public let to: String

    /// A redirect.
    public init(status: HTTPResponse.Status, from: String, to: String) {
        self.status = status
        self.from = from
        self.to = to
    }

    /// It leads to another origin (RFC 6454, section 4).
    var changesOrigin: Bool {
        let (from, to) = (URLReference(from), URLReference(to))
        return from.scheme != to.scheme || from.authority != to.authority
    }
}

extension Redirect: CustomStringConvertible, CustomDebugStringConvertible {
    /// Status and URLs, without the secrets in them.
    public var description: String { "\(status.code) \(URLRedaction.redact(from)) → \(URLRedaction.redact(to))" }

    /// The same as ``description``.
    public var debugDescription: String { description }
}
