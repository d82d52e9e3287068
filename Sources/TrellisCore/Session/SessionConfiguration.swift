package import CurlEngine
public import FoundationEssentials
public import HTTPTypes

/// The settings that all requests of a session share. Every default is safe and finite.
public struct SessionConfiguration: Sendable {
    /// The time limits; see ``Timeouts`` for the defaults.
    public var timeouts = Timeouts()
    /// The limits on connections: 256 in total and 64 to one origin by default.
    public var limits = ConnectionLimits()
    /// The origins to which the session keeps connections open, each named by a URL, and the numbers of connections; none by default.
    ///
    /// ```swift
    /// configuration.keptConnections = ["http://api.internal:8080": 2]
    /// ```
    ///
    /// The connections are opened when the session is created, and again whenever there are fewer, those in use included. They have the
    /// rules and limits of ``Session/connect(to:count:)``, and those that it cannot open in advance are left out. After a failure, or if
    /// the server closes them at once, the session pauses for one second, and for twice as long after each further failure, up to a minute.
    /// They end with the session. An origin with several ``endpoints`` has none.
    public var keptConnections: [String: Int] = [:]
    /// The number of engines, which are threads with connections. The default is ``EngineCount/automatic``: one engine, and more
    /// while their threads are busy and at least half a core is idle.
    public var engines = EngineCount.automatic
    /// The limits on the bandwidth of all transfers together. The default is no limit. Transfers in progress share the bandwidth fairly;
    /// see also ``Request/bandwidth``.
    public var bandwidth = BandwidthLimits()
    /// The rules of TLS. By default, the system's certificate authorities are trusted.
    public var tls = TLSConfiguration()
    /// The evaluators of servers, such as pins; if `nil`, the default, only the TLS handshake decides whether a server is trusted.
    /// Requests to hosts with an evaluator resume no TLS sessions.
    public var serverTrustManager: ServerTrustManager?
    /// Whether responses and errors have the certificates of their servers (``Metrics/serverTrust``). The default is `false`. A
    /// session that collects them resumes no TLS sessions, because only a complete handshake shows the validated chain.
    public var collectsServerTrust = false
    /// The rules of TLS for some hosts, instead of ``tls``. The most specific pattern that matches the host of the URL, or of an HTTPS
    /// proxy, applies. The default is none.
    public var tlsForHosts: [HostPattern: TLSConfiguration] = [:]
    /// The protocol versions that may be used. The default is ``HTTPVersionPolicy/automatic``.
    public var httpVersion = HTTPVersionPolicy.automatic
    /// The checks and windows of connections over HTTP/2; see ``HTTP2Configuration`` for the defaults.
    public var http2 = HTTP2Configuration()
    /// Whether the session reacts to changes of the machine's network. The default is `true`.
    ///
    /// Connections from an address that the machine has lost, or whose link is down, get no further request: the kernel keeps them and
    /// sends nothing on them. An idle one is closed. No request is ended. When the default routes or addresses change, the session also
    /// forgets what it knows about services, names and proxies. <doc:Reachability> lists it.
    public var followsNetworkChanges = true
    /// The reachability according to which downloads wait.
    package var reachability = NetworkReachability.shared
    /// The system's file of certificate authorities.
    package var systemAuthorities = SystemAuthorities.shared
    /// The base URL of requests with relative URLs, for example `"https://api.example.com/v2/"`. The default is `nil`: every URL must be
    /// absolute. The base is converted once, when the session is created; if that fails, or it is not absolute itself, each request with a
    /// relative URL fails.
    ///
    /// References are resolved as in RFC 3986, section 5.2. A URL with a scheme is sent unchanged (the scheme of `localhost:8080/a` is
    /// `localhost`). With the base above:
    ///
    /// | in the request | requested URL |
    /// |---|---|
    /// | `users` | `https://api.example.com/v2/users` |
    /// | `users?page=2` | `https://api.example.com/v2/users?page=2` |
    /// | `/users` | `https://api.example.com/users`: a slash in front means the root of the host |
    /// | `../v1/users` | `https://api.example.com/v1/users` |
    /// | `?page=2` | `https://api.example.com/v2/?page=2` |
    /// | an empty text | `https://api.example.com/v2/` |
    /// | `//other.example/a` | `https://other.example/a` |
    ///
    /// The part after the base's last slash is replaced: with `https://api.example.com/v2`, `users` means `https://api.example.com/users`.
    /// User information of the base applies to references without a host.
    public var baseURL: (any URLConvertible)?
    /// The query items that are added to every URL after its own items, unless the URL has items of the same name. Names are compared in
    /// decoded form, and items are percent-encoded when they are added. Absolute URLs get these items too. The default is none.
    public var defaultQueryItems: [URLQueryItem] = []
    /// The fields that are sent with every request that does not have fields of the same name. The default is none.
    public var defaultHeaders: HTTPFields = [:]
    /// The `User-Agent` field; `nil` if none is sent. The default names the program, the system and Trellis.
    public var userAgent: String? = UserAgent.default
    /// The `Accept` field of requests that have none; `nil` if they are sent without one. The default is `*/*`, any type.
    public var accept: String? = "*/*"
    /// The `Accept-Language` field; `nil` if none is sent. The default is taken from the environment of the process
    /// (``AcceptLanguage/value(environment:)``); in the locales `C` and `POSIX` there is none.
    public var acceptLanguage: String? = AcceptLanguage.default
    /// The limit on a decoded body that is collected in memory. The default is 64 MiB. Streams have no limit unless the request sets one.
    /// A response that is followed, retried or answered with credentials does not count, and no more of its body than this is read.
    public var maximumBodySize = ByteLimit.bytes(64 << 20)
    /// The limit on a response's head in bytes. The default is 64 KiB. It also applies to all informational heads of a response together,
    /// and to its trailers.
    public var maximumHeaderSize = 64 << 10
    /// Whether compressed bodies are requested (`Accept-Encoding`) and decoded, with the codings in ``TrellisRuntime/contentCodings``. The
    /// default is `true`.
    public var decodesContent = true
    /// The steps of the calls, attempts and hops of every request; ``retry``, ``authentication``, ``cookies``, ``cache`` and
    /// ``redirects`` name some of them. The default is none.
    public var steps = Steps()
    /// The monitors that receive the events of the session; see also ``Session/requestEvents``. The default is none.
    public var eventMonitors: [any EventMonitor] = []
    /// The number of events that are stored for each observer; beyond that, the oldest are dropped. The default is 4,096.
    public var eventBufferSize = 4096
    /// The way of requests without one of their own (``Request/route``): sockets, the local address, the addresses of names. The default
    /// has no restrictions.
    public var route = Route()
    /// The source of the addresses of names; `nil`, the default, if the system's is asked. Literal addresses, `localhost`, sockets and
    /// names with ``Route/addresses`` need none. Names that a proxy looks up are not asked for.
    public var resolver: (any NameResolver)?
    /// The proxies that requests go through. The default is ``ProxyConfiguration/direct``: the variables of the environment (such as
    /// `http_proxy` and `no_proxy`) apply only with ``ProxyConfiguration/environment``.
    public var proxy = ProxyConfiguration.direct
    /// The servers of origins that have several of them, each origin named by a URL; none by default. Requests to other origins go to the
    /// host of their URL.
    ///
    /// ```swift
    /// configuration.endpoints["https://orders.internal"] = EndpointPool(addressesOf: "orders.internal")
    /// ```
    ///
    /// A key that is not a URL makes every request fail with an error of kind ``TrellisError/Kind/invalidRequest``. <doc:LoadBalancing>
    /// has the rules.
    public var endpoints: [String: EndpointPool] = [:]
    /// The servers that may be reached; `nil`, the default, if all may be.
    public var egress: EgressPolicy?
    /// The hosts that are to be reached over https alone, if any.
    package var secureHosts: (any SecureHosts)?
    /// The alternative services of origins, if any.
    package var alternatives: (any AlternativeServices)?

    /// Creates a configuration with the default values.
    public init() {}
}
