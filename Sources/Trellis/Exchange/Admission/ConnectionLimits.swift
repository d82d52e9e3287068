/// The limits on the number and the lifetime of a session's connections.
///
/// A request over HTTP/1 uses a connection alone. Over HTTP/2 and HTTP/3, up to 100 requests share one if the running libcurl multiplexes
/// reliably (8.4 and later). Requests beyond the limits wait in the session's queue: within an origin they are ordered by
/// ``Request/priority`` and then by arrival, and origins take turns.
public struct ConnectionLimits: Sendable, Hashable {
    /// The maximum number of connections in total. The default is 256.
    public var total = 256
    /// The maximum number of connections to one origin. The default is 64.
    public var perOrigin = 64
    /// The time for which an unused connection is kept. The default is 45 s; fractions of a second are ignored.
    public var idleLifetime = Duration.seconds(45)
    /// The age after which a connection is not used for new requests. The default is one hour; fractions of a second are ignored.
    public var maximumLifetime = Duration.seconds(3600)

    /// Creates limits with the default values.
    public init() {}
}
