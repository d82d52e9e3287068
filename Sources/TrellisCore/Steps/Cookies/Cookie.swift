import CurlEngine
public import FoundationEssentials

/// A cookie, as a ``CookieStorage`` keeps it (draft-ietf-httpbis-rfc6265bis-22, section 5.7).
///
/// Descriptions leave the value out: the value alone may be enough to act as its user.
public struct Cookie: Sendable, Hashable {
    /// The server's policy for requests that other sites make (RFC 6265bis, section 5.6.7).
    ///
    /// A browser knows which site makes a request. A program has no such site: its requests are same-site and top-level, so
    /// every cookie is sent, regardless of this policy.
    public enum SameSite: String, Sendable, Hashable, CaseIterable {
        /// An unknown policy, or none.
        case unspecified = "Default"
        /// Sent with all requests. Requires ``Cookie/isSecure``.
        case none = "None"
        /// Sent with requests from the same site and with navigation from other sites.
        case lax = "Lax"
        /// Sent with requests from the same site alone.
        case strict = "Strict"
    }

    /// The name; may be empty, in which case the value alone is sent.
    public let name: String
    /// The value, with its quotes if it was received with any. Octets that are not UTF-8, for example of Latin-1, are U+EF80 (0x80) to
    /// U+EFFF (0xFF) in the value, in ``name`` and in ``path``. They are sent and written to files as the original octets.
    public internal(set) var value: String
    /// The host, or the domain without a leading dot: in lower case and ASCII, IPv6 addresses in brackets.
    public let domain: String
    /// Whether the cookie is sent to the host ``domain`` alone, and not to its subdomains.
    public let isHostOnly: Bool
    /// The path of the requests that the cookie is sent with; includes the paths below it.
    public let path: String
    /// Whether the cookie is sent over https alone.
    public let isSecure: Bool
    /// Whether the cookie is hidden from scripts. The attribute has no effect in a program; it is kept because files
    /// contain it.
    public let isHTTPOnly: Bool
    /// The server's policy for requests from other sites.
    public let sameSite: SameSite
    /// The expiry date; `nil` if the cookie is a session cookie, which ends with its storage.
    public internal(set) var expires: Date?
    /// The date of the first storing. Files do not contain it: for a cookie from a file, the date of reading.
    public internal(set) var created: Date
    /// The date at which the cookie was last sent or stored.
    public internal(set) var lastAccessed: Date

    /// Whether the cookie outlives its session.
    public var isPersistent: Bool { expires != nil }

    /// Creates a cookie for ``CookieStorage/insert(_:)``.
    ///
    /// - Parameters:
    ///   - name: The name, without `=`, `;` and control characters.
    ///   - value: The value, without `;` and control characters; with the name at most 4,096 bytes.
    ///   - domain: A host or domain; a leading dot is dropped.
    ///   - isHostOnly: Whether the cookie is not sent to subdomains of the domain; always so for an address.
    ///   - path: The path, which begins with `/`.
    ///   - isSecure: Whether the cookie is sent over secure connections alone; `false` unless given.
    ///   - isHTTPOnly: Whether scripts of a browser must not see the cookie; `false` unless given.
    ///   - sameSite: The requests of other sites that the cookie is sent with; unspecified unless given.
    ///   - expires: The expiry date; `nil` if the cookie is a session cookie.
    ///   - created: The time of its creation; now unless given.
    /// - Returns: `nil` if a part breaks these rules, or the rules of the prefix `__Secure-` or `__Host-` of the name.
    public init?(
        name: String, value: String, domain: String, isHostOnly: Bool = true, path: String = "/",
        isSecure: Bool = false, isHTTPOnly: Bool = false, sameSite: SameSite = .unspecified, expires: Date? = nil,
        created: Date = Date()
    ) {
        guard let domain = CookieDomain.canonical(domain) else { return nil }
        self.init(
            checkedName: name, value: value, domain: domain,
            isHostOnly: isHostOnly || CookieDomain.isAddress(domain), path: path, isSecure: isSecure,
            isHTTPOnly: isHTTPOnly, sameSite: sameSite, expires: expires, created: created)
        guard isWellFormed, CookiePrefix.allows(self, hasPath: true) else { return nil }
    }

    init(
        checkedName name: String, value: String, domain: String, isHostOnly: Bool, path: String, isSecure: Bool,
        isHTTPOnly: Bool, sameSite: SameSite, expires: Date?, created: Date
    ) {
        self.name = name
        self.value = value
        self.domain = domain
        self.isHostOnly = isHostOnly
        self.path = path
        self.isSecure = isSecure
        self.isHTTPOnly = isHTTPOnly
        self.sameSite = sameSite
        self.expires = expires
        self.created = created
        lastAccessed = created
    }
}

extension Cookie {
    /// Returns whether the cookie has expired.
    func isExpired(at now: Date) -> Bool { expires.map { $0 <= now } ?? false }

    /// Returns whether the cookie takes the place of another in a storage (RFC 6265bis, section 5.7, step 22).
    func replaces(_ other: Cookie) -> Bool {
        name.hasSameBytes(as: other.name) && isHostOnly == other.isHostOnly && domain == other.domain
            && path.hasSameBytes(as: other.path)
    }

    /// The last whole second before the expiry date, as a file holds it; `nil` if the cookie is a session cookie. Never later
    /// than the expiry date.
    var lastSecond: Int64? {
        expires.map { Int64(min(max($0.timeIntervalSince1970.rounded(.down), 1), Self.endOfTime)) }
    }

    /// The end of the year 9999, in seconds since 1970.
    static let endOfTime = 253_402_300_799.0

    /// Returns whether the other cookie is the same in everything that a file holds.
    func isSaved(by other: Cookie) -> Bool {
        replaces(other) && value.hasSameBytes(as: other.value) && lastSecond == other.lastSecond
            && isSecure == other.isSecure && isHTTPOnly == other.isHTTPOnly
    }

    /// Returns whether the other cookie is the same in everything but its dates.
    func isEqualButForDates(to other: Cookie) -> Bool {
        value.hasSameBytes(as: other.value) && hasSameAttributes(as: other)
    }

    /// Returns whether the other cookie is the same in everything but its value and its dates.
    func hasSameAttributes(as other: Cookie) -> Bool {
        replaces(other) && isSecure == other.isSecure && isHTTPOnly == other.isHTTPOnly && sameSite == other.sameSite
    }
}

extension Cookie: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A text with the name and the attributes of the cookie, without its value.
    public var description: String {
        var text = name.isEmpty ? "REDACTED" : "\(name)=REDACTED"
        text += "; \(isHostOnly ? "Host" : "Domain")=\(domain); Path=\(path)"
        if let expires { text += "; Expires=\(expires)" }
        if isSecure { text += "; Secure" }
        if isHTTPOnly { text += "; HttpOnly" }
        if sameSite != .unspecified { text += "; SameSite=\(sameSite.rawValue)" }
        return text
    }

    /// The same text as ``description``.
    public var debugDescription: String { description }

    /// A mirror without the value of the cookie, for `dump` and debuggers.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "name": name, "value": "REDACTED", "domain": domain, "isHostOnly": isHostOnly, "path": path,
                "isSecure": isSecure, "isHTTPOnly": isHTTPOnly, "sameSite": sameSite, "expires": expires as Any,
                "created": created, "lastAccessed": lastAccessed,
            ] as KeyValuePairs<String, Any>, displayStyle: .struct)
    }
}
