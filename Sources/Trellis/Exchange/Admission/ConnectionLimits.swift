/// The limits on the number and the lifetime of a session's connections.
///
/// A request over HTTP/1 uses a connection alone. Over HTTP/2 and HTTP/3, up to 100 requests share one if the running libcurl multiplexes
/// reliably (8.4 and later). Requests beyond the limits wait in the session's queue: within an origin they are ordered by
/// ``Request/priority`` and then by arrival, and origins take turns.
public struct ConnectionLimits: Sendable, Hashable {
    /// The maximum number of connections in total. The default is 256; a value less than 1 is taken as 1. Connections that a server's
    /// limit on streams makes necessary beyond one for each 100 requests have a limit of the same number of their own.
    public var total: Int
    /// The maximum number of connections to one origin. The default is 64; a value less than 1 is taken as 1.
    public var perOrigin: Int
    /// The time for which an unused connection is kept. The default is 45 s; fractions of a second are ignored.
    public var idleLifetime: Duration
    /// The age after which a connection is not used for new requests. The default is one hour; fractions of a second are ignored.
    public var maximumLifetime: Duration

    /// Creates limits; values that are not given have their defaults.
    ///
    /// - Parameters:
    ///   - total: The maximum number of connections in total.
    ///   - perOrigin: The maximum number of connections to one origin.
    ///   - idleLifetime: The time for which an unused connection is kept.
    ///   - maximumLifetime: The age after which a connection is not used for new requests.
    public init(
        total: Int = 256, perOrigin: Int = 64, idleLifetime: Duration = .seconds(45),
        maximumLifetime: Duration = .seconds(3600)
    ) {
        self.total = total
        self.perOrigin = perOrigin
        self.idleLifetime = idleLifetime
        self.maximumLifetime = maximumLifetime
    }
    /// The limits with at least one connection, without which no request would ever end.
    var usable: ConnectionLimits {
        var limits = self
        limits.total = max(total, 1)
        limits.perOrigin = max(perOrigin, 1)
        return limits
    }
}
