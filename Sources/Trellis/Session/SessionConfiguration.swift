public import FoundationEssentials
public import HTTPTypes

/// The settings that all requests of a session share. Every default is safe and finite.
public struct SessionConfiguration: Sendable {
    /// The time limits.
    public var timeouts = Timeouts()
    /// The limits on connections.
    public var limits = ConnectionLimits()
    /// The number of engines, which are threads with their own connections. The default is ``EngineCount/automatic``: one engine, and more
    /// while their threads are busy.
    public var engines = EngineCount.automatic
    /// The limits on the bandwidth of all transfers together. The default is no limit. Transfers in progress share the bandwidth fairly;
    /// see also ``Request/bandwidth``.
    public var bandwidth = BandwidthLimits()
    /// The certificates that TLS trusts.
    public var tls = TLSConfiguration()
    /// The protocol versions that may be used.
    public var httpVersion = HTTPVersionPolicy.automatic
    /// The base URL of requests with relative URLs, for example `"https://api.example.com/v2/"`; if `nil`, a relative URL is an error. The
    /// base is converted once, when the session is created. A base that cannot be converted, or is not absolute itself, makes each request
    /// with a relative URL fail.
    ///
    /// A reference is resolved as in RFC 3986, section 5.2. A URL with a scheme is absolute and is sent unchanged, which includes
    /// `localhost:8080/a`: its scheme is `localhost`. Other references are resolved like this with the base above:
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
    /// The part of the base's path after its last slash is replaced: with the base `https://api.example.com/v2`, `users` means
    /// `https://api.example.com/users`. User information of the base also applies to references that are resolved against it, unless a
    /// reference has its own host.
    public var baseURL: (any URLConvertible)?
    /// The query items that are added to every URL after its own items, unless the URL has items of the same name. Names are compared in
    /// decoded form, and items are percent-encoded when they are added. Absolute URLs get these items too.
    public var defaultQueryItems: [URLQueryItem] = []
    /// The fields that are sent with every request that does not have fields of the same name.
    public var defaultHeaders: HTTPFields = [:]
    /// The `User-Agent` field; `nil` if none is sent.
    public var userAgent: String? = UserAgent.default
    /// The `Accept-Language` field; `nil` if none is sent. The default is taken from the environment of the process
    /// (``AcceptLanguage/value(environment:)``); in the locales `C` and `POSIX` there is none.
    public var acceptLanguage: String? = AcceptLanguage.default
    /// The limit on a decoded body that is collected in memory. The default is 64 MiB. Streams have no limit unless the request sets one.
    public var maximumBodySize = ByteLimit.bytes(64 << 20)
    /// The limit on a response's head in bytes. The default is 64 KiB. It also applies to all informational heads of a response together,
    /// and to its trailers.
    public var maximumHeaderSize = 64 << 10
    /// Indicates whether compressed bodies are requested (`Accept-Encoding`) and decoded, as far as the running libcurl supports it.
    public var decodesContent = true
    /// The steps around the attempts of every request. The default is none.
    public var steps = Steps()
    /// The monitors that receive the events of the session; see also ``Session/requestEvents``.
    public var eventMonitors: [any EventMonitor] = []
    /// The number of events that are stored for each observer; beyond that, the oldest are dropped. The default is 4,096.
    public var eventBufferSize = 4096
    /// The path of a Unix domain socket to which all requests go, regardless of the host in their URL. It takes precedence over ``proxy``.
    public var unixSocketPath: String?
    /// The HTTP proxy through which all requests go, without exception, including requests to this machine; `nil` if there is none. The
    /// proxy settings of the environment (such as `http_proxy` and `no_proxy`) are never used.
    public var proxy: ProxyConfiguration?

    /// Creates a configuration with the default values.
    public init() {}
}
