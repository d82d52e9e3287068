/// The limits on the number of a session's connections and requests, and on the lifetime of its connections.
///
/// ```swift
/// configuration.limits.requestsPerOrigin = 8
/// ```
///
/// A request over HTTP/1 uses a connection alone. Over HTTP/2 and HTTP/3, many requests share one. Requests beyond the limits wait in the
/// session's queue: within an origin they are ordered by ``Request/priority`` and then by arrival (on each engine, if the origin has
/// several), and origins take turns.
public struct ConnectionLimits: Sendable, Hashable {
    /// The maximum number of connections in total. The default is 256; a value less than 1 is taken as 1.
    public var total: Int
    /// The maximum number of connections to one origin. The default is 64; a value less than 1 is taken as 1.
    public var perOrigin: Int
    /// The maximum number of connections to one origin over HTTP/2 or HTTP/3, at most ``perOrigin``. The default is 4; a value less than 1
    /// is taken as 1.
    ///
    /// Another connection is made when all others carry as many requests as the server allows. One that the server has asked to leave
    /// (GOAWAY) does not count.
    public var sharedPerOrigin = 4
    /// The maximum number of requests in flight to one origin, over any number of connections; `nil`, the default, sets no limit. A value
    /// less than 1 is taken as 1.
    ///
    /// ``perOrigin`` limits connections; over HTTP/2 and HTTP/3, each carries many requests. This limit counts requests: one
    /// counts from its start until its response has been received, and so do a stream whose body is being read and an open WebSocket.
    /// A request does not count while it waits, also not between two attempts. Requests that differ in the proxy, or over TLS in the
    /// demanded version of HTTP, are counted apart; a WebSocket demands HTTP/1.1.
    public var requestsPerOrigin: Int?
    /// The maximum number of requests that wait for a connection to one origin; `nil`, the default, sets no limit. A value less than 0 is
    /// taken as 0: no request waits.
    ///
    /// At the limit, a new request makes the one of the lowest priority fail at once with ``TrellisError/Kind/shed``, and of several the
    /// one that came last. That is the new one itself, unless one of a lower priority waits. The requests that wait for the first
    /// connection to an origin, which shows whether it can be shared, count too.
    public var waitingPerOrigin: Int?
    /// Whether a request fails at once with ``TrellisError/Kind/shed`` if its ``Timeouts/total`` would be over before its turn comes. The
    /// default is `false`.
    ///
    /// The session estimates the turn when the request begins to wait: from the number of requests ahead of it, the number of requests in
    /// flight to the origin, and the time that these take on average. It estimates nothing from fewer than 16 requests, or for a request
    /// that waits because of ``total``, where other origins decide. <doc:Overload> has the rules.
    public var shedsLateRequests = false
    /// The time for which an unused connection is kept. The default is 45 s; fractions of a second are ignored.
    public var idleLifetime: Duration
    /// The age after which a connection is not used for new requests. The default is one hour; fractions of a second are ignored.
    public var maximumLifetime: Duration

    /// Creates limits; values that are not given have their defaults.
    ///
    /// - Parameters:
    ///   - total: The maximum number of connections in total.
    ///   - perOrigin: The maximum number of connections to one origin.
    ///   - requestsPerOrigin: The maximum number of requests in flight to one origin; no limit unless given.
    ///   - idleLifetime: The time for which an unused connection is kept.
    ///   - maximumLifetime: The age after which a connection is not used for new requests.
    public init(
        total: Int = 256, perOrigin: Int = 64, requestsPerOrigin: Int? = nil, idleLifetime: Duration = .seconds(45),
        maximumLifetime: Duration = .seconds(3600)
    ) {
        self.total = total
        self.perOrigin = perOrigin
        self.requestsPerOrigin = requestsPerOrigin
        self.idleLifetime = idleLifetime
        self.maximumLifetime = maximumLifetime
    }

    /// The limits with at least one connection and request, without which no request would ever end.
    var usable: ConnectionLimits {
        var limits = self
        limits.total = max(total, 1)
        limits.perOrigin = max(perOrigin, 1)
        limits.sharedPerOrigin = min(max(sharedPerOrigin, 1), limits.perOrigin)
        limits.requestsPerOrigin = requestsPerOrigin.map { max($0, 1) }
        limits.waitingPerOrigin = waitingPerOrigin.map { max($0, 0) }
        return limits
    }

    /// Whether a request that waits may have to fail at once.
    var mayShed: Bool { waitingPerOrigin != nil || shedsLateRequests }

    /// Returns how many of the wanted connections to one origin the limits allow.
    func allowed(_ count: Int) -> Int {
        let limits = usable
        return min(count, limits.perOrigin, limits.total)
    }
}
