public import Trellis

/// The settings of a ``Gateway``.
public struct GatewaySettings: Sendable {
    /// The host or address to listen on.
    public var host: String
    /// The port to listen on; with 0, the system chooses one.
    public var port: Int
    /// The scheme, host and port of the origin, such as `http://localhost:8080`.
    public var origin: String
    /// The versions of HTTP for the origin; by default, HTTP/2 where the origin offers it during the TLS handshake, and HTTP/1.1 otherwise.
    public var originVersion = HTTPVersionPolicy.automatic
    /// The cache; `nil`, the default, if nothing is stored.
    public var cache: HTTPCache?
    /// The time to connect to the origin, 10 seconds by default. Afterwards the response is a 504.
    public var connectTimeout = Duration.seconds(10)
    /// The time in which the origin sends nothing, 60 seconds by default. Afterwards the response is a 504, or is cut short.
    public var idleTimeout = Duration.seconds(60)
    /// The time in which a client sends or takes nothing although it is its turn, 60 seconds by default. Afterwards its request is refused,
    /// or its connection ends. A head may take half of that time, and at most 30 seconds.
    public var clientTimeout = Duration.seconds(60)
    /// The time for which a client's connection without a request is kept, 75 seconds by default.
    public var keepAliveTime = Duration.seconds(75)
    /// The time for which responses go on after a signal to end, 60 seconds by default.
    public var drainTime = Duration.seconds(60)
    /// The file with certificate authorities that are trusted besides the system's; `nil` if there is none.
    public var certificateAuthorityFile: String?
    /// The monitors of the events of the requests to the origin; none by default.
    public var eventMonitors: [any EventMonitor] = []
    /// The destination of a line for each request, without a line end; `nil`, the default, if there are none.
    public var accessLog: (@Sendable (String) -> Void)?
    /// The largest number of clients' connections, 10,000 by default. Further ones wait in the queue of the system.
    public var maximumConnections = 10_000

    /// Creates settings with the defaults for all values that are not given.
    public init(host: String, port: Int, origin: String) {
        self.host = host
        self.port = port
        self.origin = origin
    }

    /// The configuration of the session behind the gateway: nothing is added to requests, followed, decoded or repeated, there are no
    /// cookies, and the proxies of the environment are not used.
    var sessionConfiguration: SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.userAgent = nil
        configuration.accept = nil
        configuration.acceptLanguage = nil
        configuration.decodesContent = false
        configuration.proxy = .direct
        configuration.httpVersion = originVersion
        configuration.timeouts = Timeouts(
            connect: connectTimeout, responseHead: idleTimeout, idle: idleTimeout, total: nil)
        // Over HTTP/1, each client's request has a separate connection, so that none waits for a slow client.
        configuration.limits = ConnectionLimits(total: maximumConnections, perOrigin: maximumConnections)
        configuration.tls = TLSConfiguration(additionalCertificateAuthorityFile: certificateAuthorityFile)
        configuration.steps.redirectHandler = .doNotFollow
        configuration.cache = cache
        configuration.eventMonitors = eventMonitors
        return configuration
    }
}
