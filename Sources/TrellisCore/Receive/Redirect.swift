import CurlEngine
public import HTTPTypes

/// A redirect that was followed before the final response.
public struct Redirect: Sendable, Hashable {
    /// The status of the response that redirected.
    public let status: HTTPResponse.Status
    /// The URL that was requested, as it was sent.
    public let from: String
    /// The URL that was requested next, as it was sent.
    public let to: String
    /// The fragment of ``to``, which is not sent: the fragment of the `Location` or, if that has none, of the URL before it (RFC 9110,
    /// section 10.2.2), if any.
    public let fragment: String?
    /// Whether the redirect led to `http`, and the scheme was changed to `https`, as in ``to``, because of the session's
    /// ``SessionConfiguration/hsts``.
    public internal(set) var isUpgraded = false

    /// Creates a redirect.
    public init(status: HTTPResponse.Status, from: String, to: String, fragment: String? = nil) {
        self.status = status
        self.from = from
        self.to = to
        self.fragment = fragment
    }

    /// Whether the redirect leads to another origin (RFC 6454, section 4).
    var changesOrigin: Bool {
        let (from, to) = (URLReference(from), URLReference(to))
        return !(from.scheme ?? "").hasSameToken(as: to.scheme ?? "")
            || !(from.authority ?? "").hasSameToken(as: to.authority ?? "")
    }
}

extension Redirect: CustomStringConvertible, CustomDebugStringConvertible {
    /// The status and the URLs, without the secrets in the URLs.
    public var description: String { "\(status.code) \(URLRedaction.redact(from)) → \(URLRedaction.redact(to))" }

    /// The same as ``description``.
    public var debugDescription: String { description }
}
