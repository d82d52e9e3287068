public import FoundationEssentials
public import HTTPTypes

/// The settings that all requests of a session share. Every default is safe and finite.
public struct SessionConfiguration: Sendable {
    /// The limits on time.
    public var timeouts = Timeouts()
    /// The limits on connections.
    public var limits = ConnectionLimits()
    /// The limits on the bandwidth of all transfers together; unlimited unless set. Transfers under way share the bandwidth
    /// fairly; see also ``Request/bandwidth``.
    public var bandwidth = BandwidthLimits()
    /// The certificates that TLS trusts.
    public var tls = TLSConfiguration()
    /// The protocol versions that may be used.
    public var httpVersion = HTTPVersionPolicy.automatic
    /// The base URL of requests with relative URLs, for example `"https://api.example.com/v2/"`; `nil` for none, which makes a
    /// relative URL an error. The base is converted once, when the session is made; a base that cannot be converted, or is not
    /// absolute itself, is an error of each request with a relative URL.
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
    /// `https://api.example.com/users`. User information of the base also applies to references that are resolved against it,
    /// unless a reference has a host of its own.
    public var baseURL: (any URLConvertible)?
    /// The query items that are added to every URL, after its own, unless the URL has items of the same name. Names are compared
    /// decoded, and items are percent-encoded when they are added. Absolute URLs get them too.
    public var defaultQueryItems: [URLQueryItem] = []
    /// The fields that are sent with every request that does not have fields of the same name.
    public var defaultHeaders: HTTPFields = [:]
    /// The `User-Agent`; `nil` sends none.
    public var userAgent: String? = UserAgent.default
    /// The `Accept-Language`, by default from the process's environment (``AcceptLanguage/value(environment:)``), which has none
    /// in the locales `C` and `POSIX`; `nil` sends none.
    public var acceptLanguage: String? = AcceptLanguage.default
    /// The limit on a decoded body that is collected in memory, 64 MiB unless set. Streams have no limit unless the request sets
    /// one.
    public var maximumBodySize = ByteLimit.bytes(64 << 20)
    /// The limit on a response's head in bytes, 64 KiB unless set; applies also to all its informational heads together, and to
    /// its trailers.
    public var maximumHeaderSize = 64 << 10
    /// Indicates whether compressed bodies are asked for (`Accept-Encoding`) and decoded, as far as the running libcurl can.
    public var decodesContent = true
    /// The steps around the attempts of every request; none unless set.
    public var steps = Steps()
    /// The monitors that receive the events of the session; see also ``Session/requestEvents``.
    public var eventMonitors: [any EventMonitor] = []
    /// The number of events that may wait for each observer, 4,096 unless set; the oldest are dropped beyond that.
    public var eventBufferSize = 4096
    /// The path of a Unix domain socket that all requests go to, regardless of the host in their URL; takes precedence over
    /// ``proxy``.
    public var unixSocketPath: String?
    /// The HTTP proxy that all requests go through, without exception, requests to this machine included; `nil` for none. The
    /// proxy settings of the environment (`http_proxy`, `no_proxy` and the like) are never used.
    public var proxy: ProxyConfiguration?

    /// Creates a configuration with the defaults.
    public init() {}
}
