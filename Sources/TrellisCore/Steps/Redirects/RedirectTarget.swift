import CurlEngine
import HTTPTypes

/// The URL that a `Location` leads to. A single parser produces the URLs that are compared, connected to and sent.
struct RedirectTarget: Sendable {
    /// The URL that was requested, without user information and fragment.
    let from: String
    /// The URL that is requested next, without user information and fragment.
    let to: String
    /// The URL that is requested next, with user information and fragment.
    let url: String
    /// The fragment of the location or, if it has none, of the request (RFC 9110, section 10.2.2).
    let fragment: String?
    /// Whether the scheme, the host or the port changes.
    let changesOrigin: Bool
    /// Whether the redirect leads from `https` to `http`.
    let isDowngrade: Bool
    /// Whether the location has the scheme `http`, and the host asks for `https`.
    let isUpgraded: Bool

    /// Creates the target of a `Location`.
    ///
    /// - Parameters:
    ///   - location: The value of the field, not empty.
    ///   - request: The URL of the request as its author wrote it, with user information and fragment.
    ///   - sent: The URL of the request as it was sent; used if `request` is relative.
    ///   - hsts: The hosts that are to be reached over https alone; `nil` if none are known.
    init(
        _ location: String, of request: String, sentTo sent: String, hsts: (any SecureHosts)? = nil
    ) throws(TrellisError) {
        let base = try Self.parse(URLReference(request).scheme == nil ? sent : request)
        let reference = URLReference(location)
        try Self.check(reference)
        var resolved = reference.resolved(against: URLReference(base.text))
        var target = try Self.parse(resolved.text)
        let upgraded = hsts?.upgraded(resolved.text, target)
        if let upgraded {
            resolved = URLReference(upgraded)
            target = try Self.parse(upgraded)
        }
        isUpgraded = upgraded != nil
        from = base.text
        to = target.text
        changesOrigin = base.origin != target.origin
        isDowngrade = base.scheme == "https" && target.scheme == "http"
        let userInformation =
            changesOrigin ? "" : Self.userInformation(resolved.text) ?? Self.userInformation(request) ?? ""
        fragment = reference.fragment ?? URLReference(request).fragment
        url = Self.url(target, userInformation: userInformation, fragment: fragment)
    }

    private static func url(_ target: WireURL, userInformation: String, fragment: String?) -> String {
        let rest = target.text.dropFirst(target.scheme.utf8.count + 3)
        return "\(target.scheme)://\(userInformation)\(rest)" + (fragment.map { "#\($0)" } ?? "")
    }

    private static func check(_ reference: URLReference) throws(TrellisError) {
        guard let scheme = reference.scheme else { return }
        guard scheme.isHTTPScheme else {
            throw refused("its scheme is \(scheme.prefix(32)), not http or https")
        }
        // libcurl treats `https:/a/b` as the host `a`, and browsers treat it as a path.
        guard !(reference.authority ?? "").isEmpty else { throw refused("its Location has no host") }
    }

    private static func parse(_ text: String) throws(TrellisError) -> WireURL {
        do throws(WireURL.ParseFailure) {
            return try WireURL(parsing: text)
        } catch {
            switch error {
            case .empty, .relative: throw refused("its Location is not absolute")
            case .unsupportedScheme(let scheme): throw refused("its scheme is \(scheme.prefix(32)), not http or https")
            case .malformed(let reason): throw refused("its Location is malformed: \(reason)")
            }
        }
    }

    private static func refused(_ reason: String) -> TrellisError { TrellisError(.redirectFailed(.refused(reason))) }

    /// Returns the part of a URL before the host, with the `@`.
    private static func userInformation(_ url: String) -> String? {
        guard let authority = URLReference(url).authority, let at = authority.lastIndex(ofByte: "@") else { return nil }
        return String(authority[..<authority.utf8.index(after: at)])
    }
}

/// The fields that are not sent along with a redirect.
enum RedirectFields {
    private static let ofBody: Set<String> = [
        "transfer-encoding", "digest", "repr-digest", "trailer", "expect", "idempotency-key",
    ]
    private static let ofOrigin: Set<String> = [
        "authorization", "cookie", "proxy-authorization", "host", "origin", "referer",
    ]

    /// Returns whether a field describes the body, so that without a body it would say nothing, or something wrong: the fields of
    /// RFC 9110, sections 8.3 to 8.7, 6.6.2 and 10.1.1, of RFC 9530, and the idempotency key of the request that is replaced.
    static func describesBody(_ field: HTTPField) -> Bool {
        let name = field.name.canonicalName
        return name.hasPrefix("content-") || ofBody.contains(name)
    }

    /// Returns whether a field was written for one origin (RFC 9110, section 15.4), or is a secret by its name or its mark.
    static func isBoundToOrigin(_ field: HTTPField) -> Bool {
        ofOrigin.contains(field.name.canonicalName) || SecretFields.isSecret(field)
    }
}
