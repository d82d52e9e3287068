/// How many connections a session may have, and for how long.
///
/// A request over HTTP/1 takes a connection for itself; over HTTP/2 and HTTP/3 up to 100 share one, where the running
/// libcurl multiplexes reliably (8.4 and later). Requests beyond the limits wait in the session's queue: within an
/// origin by ``Request/priority`` and then first come, first served, and in turns between origins.
public struct ConnectionLimits: Sendable, Hashable {
    /// Connections in all, 256 unless set.
    public var total = 256
    /// Connections to one origin, 64 unless set.
    public var perOrigin = 64
    /// How long an unused connection is kept, 45 s unless set; whole seconds count.
    public var idleLifetime = Duration.seconds(45)
    /// How old a connection may become before it is no longer used for new requests, one hour unless set; whole seconds
    /// count.
    public var maximumLifetime = Duration.seconds(3600)

    /// The defaults.
    public init() {}
}
