/// How much a ``CookieStorage`` keeps (section 6.1 of the draft asks for at least 50 and 3,000).
///
/// Above them, cookies that have ended go first; then, of domains with more than 50, those without `Secure`, then those
/// with it; then all others. Of equals, the one goes that was not used for the longest time.
public struct CookieLimits: Sendable, Hashable {
    /// Cookies with the same ``Cookie/domain``: 180.
    public var perDomain: Int
    /// Cookies in all: 3,000.
    public var total: Int
    /// Bytes of the `Cookie` field of one request: 131,072. The cookies that do not fit stay at home, beginning with the
    /// last in order, so that a server and its siblings cannot make each other's requests too large to be sent.
    public var fieldSize: Int

    /// The limits, with their defaults.
    public init(perDomain: Int = 180, total: Int = 3_000, fieldSize: Int = 128 << 10) {
        self.perDomain = perDomain
        self.total = total
        self.fieldSize = fieldSize
    }

    /// Domains with more than so many others are the first to lose some.
    static let fairShare = 50
}
