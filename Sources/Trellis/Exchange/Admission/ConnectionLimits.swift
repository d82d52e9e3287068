/// The limits on the number and the lifetime of a session's connections.
///
/// A request over HTTP/1 uses a connection alone; over HTTP/2 and HTTP/3 up to 100 requests share one, if the running libcurl
/// multiplexes reliably (8.4 and later). Requests beyond the limits wait in the session's queue: within an origin by
/// ``Request/priority`` and then first come, first served, and in turns between origins.
public struct ConnectionLimits: Sendable, Hashable {
    /// The number of connections in total, 256 unless set.
    public var total = 256
    /// The number of connections to one origin, 64 unless set.
    public var perOrigin = 64
    /// The time for which an unused connection is kept, 45 s unless set; fractions of a second are ignored.
    public var idleLifetime = Duration.seconds(45)
    /// The age of a connection after which it is no longer used for new requests, one hour unless set; fractions of a second are
    /// ignored.
    public var maximumLifetime = Duration.seconds(3600)

    /// Creates limits with the defaults.
    public init() {}
}
