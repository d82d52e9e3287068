import FoundationEssentials

extension Cookie {
    /// The longest lifetime of a cookie from its arrival on, in seconds: 400 days (RFC 6265bis, section 5.5).
    static let maximumAge: Double = 400 * 86_400

    /// Creates the cookie that a response sets; `nil` if the response may not set it (RFC 6265bis, section 5.7, steps 2 to 22
    /// except step 16, which depends on the cookies that are stored).
    init?(_ field: SetCookie, from url: CookieURL, at now: Date, suffixes: PublicSuffixes) {
        guard let scope = Scope(domain: field.domain, from: url, suffixes: suffixes) else { return nil }
        self.init(
            checkedName: field.name, value: field.value, domain: scope.domain, isHostOnly: scope.isHostOnly,
            path: field.path ?? CookiePath.standard(for: url.path), isSecure: field.isSecure,
            isHTTPOnly: field.isHTTPOnly, sameSite: field.sameSite, expires: field.lifetime.end(at: now), created: now)
        // A secure cookie must arrive over a secure connection, on which other parties can neither read nor set it.
        guard !isSecure || url.isSecure else { return nil }
        guard sameSite != .none || isSecure else { return nil }
        guard CookiePrefix.allows(self, hasPath: field.hasPath) else { return nil }
    }

    /// The hosts that a cookie is for (steps 7 to 10).
    private struct Scope {
        let domain: String
        let isHostOnly: Bool

        init?(domain: String, from url: CookieURL, suffixes: PublicSuffixes) {
            guard !domain.isEmpty else {
                (self.domain, isHostOnly) = (url.host, true)
                return
            }
            guard domain.utf8.allSatisfy({ $0 < 0x80 }), CookieDomain.matches(url.host, domain) else { return nil }
            if domain == url.host {
                // An address has no subdomains, and the subdomains of a public suffix belong to different owners.
                (self.domain, isHostOnly) = (domain, url.hasAddress || suffixes.contains(domain))
            } else {
                guard !suffixes.contains(domain) else { return nil }
                (self.domain, isHostOnly) = (domain, false)
            }
        }
    }
}
