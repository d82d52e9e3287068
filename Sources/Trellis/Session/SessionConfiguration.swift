public import FoundationEssentials
public import HTTPTypes

/// What all requests of a session have in common. Every default is safe and finite.
public struct SessionConfiguration: Sendable {
    /// The limits on time.
    public var timeouts = Timeouts()
    /// The limits on connections.
    public var limits = ConnectionLimits()
    /// How fast all transfers together may be; unlimited unless set. Those that are under way share it fairly; see also
    /// ``Request/bandwidth``.
    public var bandwidth = BandwidthLimits()
    /// Whom TLS trusts.
    public var tls = TLSConfiguration()
    /// The protocol versions that may be used.
    public var httpVersion = HTTPVersionPolicy.automatic
    /// What relative URLs of requests are relative to, for example `"https://api.example.com/v2/"`; `nil` for nothing, which
    /// makes a relative URL an error. Converted once, when the session is made; a base that cannot be converted, or is not
    /// absolute itself, is an error of each request with a relative URL.
    ///
    /// A reference is resolved as RFC 3986, section 5.2 has it. A URL with a scheme is absolute and goes out as it is, which
    /// includes `localhost:8080/a`: its scheme is `localhost`. Of others, with the base above:
    ///
    /// | in the request | what is requested |
    /// |---|---|
    /// | `users` | `https://api.example.com/v2/users` |
    /// | `users?page=2` | `https://api.example.com/v2/users?page=2` |
    /// | `/users` | `https://api.example.com/users`: a slash in front means the root of the host |
    /// | `../v1/users` | `https://api.example.com/v1/users` |
    /// | `?page=2` | `https://api.example.com/v2/?page=2` |
    /// | an empty text | `https://api.example.com/v2/` |
    /// | `//other.example/a` | `https://other.example/a` |
    ///
    /// What follows the last slash of the base's path is replaced: with the base `https://api.example.com/v2`, `users` means
    /// `https://api.example.com/users`. User information of the base holds for what is resolved against it, unless that has
    /// a host of its own.
    public var baseURL: (any URLConvertible)?
    /// Query items that every URL gets that does not have items of the same name, after its own. They are compared decoded,
    /// and percent-encoded when they are added. Absolute URLs get them too.
    public var defaultQueryItems: [URLQueryItem] = []
    /// Fields that are sent with every request that does not have fields of the same name.
    public var defaultHeaderFields: HTTPFields = [:]
    /// The `User-Agent`; `nil` sends none.
    public var userAgent: String? = UserAgent.default
    /// The `Accept-Language`, by default that of the process's environment (``AcceptLanguage/value(environment:)``), which has
    /// none in the locales `C` and `POSIX`; `nil` sends none.
    public var acceptLanguage: String? = AcceptLanguage.default
    /// The limit on a decoded body that is collected in memory, 64 MiB unless set. Streams have none of their own.
    public var maximumBodySize = ByteLimit.bytes(64 << 20)
    /// The limit on a response's head in bytes, 64 KiB unless set; also for all its informational heads together, and for
    /// its trailers.
    public var maximumHeaderSize = 64 << 10
    /// Whether compressed bodies are asked for (`Accept-Encoding`) and decoded, as far as the running libcurl can.
    public var decodesContent = true
    /// What surrounds the attempts of every request; nothing unless set.
    public var steps = Steps()
    /// Who sees the events of the session; see also ``Session/requestEvents``.
    public var eventMonitors: [any EventMonitor] = []
    /// How many events may wait for each observer, 4,096 unless set; the oldest are dropped beyond that.
    public var eventBufferSize = 4096
    /// A socket in the file system that all requests go to, whatever the host in their URL; past any ``proxy``.
    public var unixSocketPath: String?
    /// The HTTP proxy that all requests go through, without exception, those to this machine included; `nil` for none. What
    /// the environment names (`http_proxy`, `no_proxy` and the like) is never used.
    public var proxy: ProxyConfiguration?

    /// The defaults.
    public init() {}
}
