import CurlEngine
public import FoundationEssentials

/// A cookie, as a ``CookieStorage`` keeps it (draft-ietf-httpbis-rfc6265bis-22, section 5.7).
///
/// Its value is left out of descriptions: it may be all that it takes to be someone.
public struct Cookie: Sendable, Hashable {
    /// What a server asked for as to requests that come from other sites (section 5.6.7).
    ///
    /// A browser knows which site a request comes from. A program has none: its requests are same-site and top-level, so
    /// every cookie is sent whatever it says here.
    public enum SameSite: String, Sendable, Hashable, CaseIterable {
        /// The server did not say, or said something unknown.
        case unspecified = "Default"
        /// With all requests. Needs ``Cookie/isSecure``.
        case none = "None"
        /// With requests from the same site and with navigation from others.
        case lax = "Lax"
        /// With requests from the same site alone.
        case strict = "Strict"
    }

    /// The name; may be empty, then the value alone is sent.
    public let name: String
    /// The value, with its quotes if it came with any. Octets that are no UTF-8, for example of Latin-1, stand in it, and in
    /// ``name`` and ``path``, as U+EF80 (0x80) to U+EFFF (0xFF), and go back to the server and into files as the octets.
    public let value: String
    /// The host, or the domain without a leading dot: in lower case and ASCII, IPv6 addresses in brackets.
    public let domain: String
    /// Sent to the host ``domain`` alone, and not to those below it.
    public let isHostOnly: Bool
    /// Sent with requests for this path and those below it.
    public let path: String
    /// Sent over https alone.
    public let isSecure: Bool
    /// Hidden from scripts, which is nothing to a program; kept because files tell it.
    public let isHTTPOnly: Bool
    /// The server's wish as to other sites.
    public let sameSite: SameSite
    /// When it ends; `nil` for a cookie of the session, which ends with its storage.
    public let expires: Date?
    /// When it was first stored. Files do not tell: of a cookie from a file, when it was read.
    public internal(set) var created: Date
    /// When it was last sent or stored.
    public internal(set) var lastAccessed: Date

    /// It outlives its session.
    public var isPersistent: Bool { expires != nil }

    /// A cookie for ``CookieStorage/insert(_:)``.
    ///
    /// - Parameters:
    ///   - name: without `=`, `;` and control characters.
    ///   - value: without `;` and control characters; with the name at most 4,096 bytes.
    ///   - domain: a host or domain; a leading dot is dropped.
    ///   - isHostOnly: whether hosts below the domain do without it; always so for an address.
    ///   - path: begins with `/`.
    ///   - expires: `nil` for a cookie of the session.
    /// - Returns: `nil` where a part is not as said here, or not as the prefix `__Secure-` or `__Host-` of the name asks.
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
    /// Its end has come.
    func isExpired(at now: Date) -> Bool { expires.map { $0 <= now } ?? false }

    /// One takes the place of the other in a storage (section 5.7, step 22).
    func replaces(_ other: Cookie) -> Bool {
        name.hasSameBytes(as: other.name) && isHostOnly == other.isHostOnly && domain == other.domain
            && path.hasSameBytes(as: other.path)
    }

    /// The last whole second of its life, as a file holds it; `nil` for a cookie of the session. Never later than its end.
    var lastSecond: Int64? {
        expires.map { Int64(min(max($0.timeIntervalSince1970.rounded(.down), 1), Self.endOfTime)) }
    }

    /// The end of the year 9999.
    static let endOfTime = 253_402_300_799.0

    /// Everything that a file holds is the same.
    func isSaved(by other: Cookie) -> Bool {
        replaces(other) && value.hasSameBytes(as: other.value) && lastSecond == other.lastSecond
            && isSecure == other.isSecure && isHTTPOnly == other.isHTTPOnly
    }
}
