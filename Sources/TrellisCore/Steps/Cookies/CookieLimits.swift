/// The limits of a ``CookieStorage`` (section 6.1 of RFC 6265bis asks for at least 50 and 3,000).
///
/// Above the limits, cookies that have expired are removed first; then, of domains with more than 50 cookies, those without
/// `Secure`, then those with it; then all others. Among equal cookies, the one that was not used for the longest time is removed.
public struct CookieLimits: Sendable, Hashable {
    /// The number of cookies with the same ``Cookie/domain``, 180 by default.
    public var perDomain: Int
    /// The number of cookies in all, 3,000 by default.
    public var total: Int
    /// The size of the `Cookie` field of one request, 131,072 bytes by default. Cookies that do not fit are not sent, beginning
    /// with the last in order, so that a server and its siblings cannot make each other's requests too large to be sent.
    public var fieldSize: Int

    /// Creates limits, with the defaults for those that are not given. A limit below zero is zero.
    public init(perDomain: Int = 180, total: Int = 3_000, fieldSize: Int = 128 << 10) {
        self.perDomain = perDomain
        self.total = total
        self.fieldSize = fieldSize
    }

    /// The limits from zero to a half of the largest number, so that twice a limit can be computed.
    var usable: CookieLimits {
        CookieLimits(perDomain: Self.usable(perDomain), total: Self.usable(total), fieldSize: Self.usable(fieldSize))
    }

    private static func usable(_ limit: Int) -> Int { min(max(limit, 0), Int.max / 2) }

    /// The number of cookies above which a domain is among the first to lose some.
    static let fairShare = 50
}
