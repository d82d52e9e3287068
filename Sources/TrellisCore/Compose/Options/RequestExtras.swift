import CurlEngine
import HTTPTypes

/// The properties that few requests have, stored apart so that the other requests stay small and quick to copy.
struct RequestExtras: Sendable {
    /// The value of ``Request/expectContinueTimeout``.
    var expectContinueTimeout: Duration?
    /// The value of ``Request/bandwidth``.
    var bandwidth = BandwidthLimits()
    /// The value of ``Request/proxy``.
    var proxy: ProxyConfiguration?
    /// The value of ``Request/collectsServerTrust``.
    var collectsServerTrust: Bool?
    /// The value of ``Request/route``.
    var route: Route?
    /// The value of ``Request/trailers``.
    var trailers: TrailerSource?
    /// The value of ``Request/cacheMode``.
    var cacheMode = CacheMode.default
    /// The value of ``Request/urlTemplate``.
    var urlTemplate: String?
    /// The value of ``Request/sendsURLUnchanged``.
    var sendsURLUnchanged = false
    /// The value of ``Request/isSentOnce``.
    var isSentOnce = false
    /// The value of ``Request/isRepeatable``.
    var isRepeatable = false
    /// The value of ``Request/isComplete``.
    var isComplete = false
    /// The value of ``Request/hasLeftOrigin``.
    var hasLeftOrigin = false
    /// The value of ``Request/informationalReceiver``.
    var informationalReceiver: (any Sendable)?
    /// The proxy that was selected for the exchange, and the addresses that were found; `nil` if the rules themselves name them.
    var selected: SelectedProxy?
    /// The alternative service to which the exchange is sent; `nil` if it is sent to the origin.
    var alternative: AlternativeService?
    /// The value of ``Request/endpointKey``.
    var endpointKey: String?
    /// The endpoint of the origin to which the exchange is sent; `nil` if the origin has none.
    var endpoint: SelectedEndpoint?
    /// The number of connections up to which one is made, without sending the request; `nil` if the request is sent.
    var connectionCount: Int?

    /// Whether objects or closures of the user's may be among the properties.
    var mayHaveUserObjects: Bool { trailers != nil || informationalReceiver != nil || proxy != nil || route != nil }

    /// The immutable reference to the extras of a request.
    final class Box: Sendable {
        let extras: RequestExtras

        init(_ extras: RequestExtras) { self.extras = extras }
    }
}

extension Request {
    /// The longest time that the body waits for the server's permission (`Expect: 100-continue`; RFC 9110, section 10.1.1);
    /// if `nil`, the default, the body follows the head at once.
    ///
    /// The body is sent after the server has responded 100, or after the time is over; the time begins when the connection is
    /// ready. Another response instead of 100 is the response of the request: the body is never read, and the connection is not
    /// used again. If the server responds 417, the request is sent again, without the expectation.
    ///
    /// The expectation is worth its round trip if a body is large and a refusal is likely. A request without a body needs
    /// no expectation.
    public var expectContinueTimeout: Duration? {
        get { extras?.extras.expectContinueTimeout }
        set { changeExtras { $0.expectContinueTimeout = newValue } }
    }

    /// The limits on the speed of the request's body and the response's body, besides the limits of the session; unlimited by
    /// default.
    public var bandwidth: BandwidthLimits {
        get { extras?.extras.bandwidth ?? BandwidthLimits() }
        set { changeExtras { $0.bandwidth = newValue } }
    }

    /// The proxies of the request; `nil`, the default, if the session's apply (``SessionConfiguration/proxy``). Requests of different
    /// proxies share no connections.
    public var proxy: ProxyConfiguration? {
        get { extras?.extras.proxy }
        set { changeExtras { $0.proxy = newValue } }
    }

    /// Whether the response and the error of the request have the certificates of the server (``Metrics/serverTrust``); `nil`,
    /// the default, if the session's choice applies (``SessionConfiguration/collectsServerTrust``). Requests that collect certificates
    /// resume no TLS session on a new connection, because only a complete handshake shows the validated chain. For the same reason they
    /// close an idle connection on which an earlier request has resumed a TLS session.
    public var collectsServerTrust: Bool? {
        get { extras?.extras.collectsServerTrust }
        set { changeExtras { $0.collectsServerTrust = newValue } }
    }

    /// The way of the request to its server, instead of the session's as a whole; `nil`, the default, if the session's applies
    /// (``SessionConfiguration/route``). Requests of different routes share no connections.
    public var route: Route? {
        get { extras?.extras.route }
        set { changeExtras { $0.route = newValue } }
    }

    /// The use of the session's cache by the request (``Steps/cache``); ``CacheMode/default`` by default.
    public var cacheMode: CacheMode {
        get { extras?.extras.cacheMode ?? .default }
        set { changeExtras { $0.cacheMode = newValue } }
    }

    /// The template of the URL's path, such as `/users/{id}`, for spans and metrics; `nil`, the default, if there is none. The template
    /// must not have many values, because each value is a series of its own in metrics (`url.template` in the conventions of
    /// OpenTelemetry). It is not sent, and does not apply to the target of a redirect.
    public var urlTemplate: String? {
        get { extras?.extras.urlTemplate }
        set { changeExtras { $0.urlTemplate = newValue } }
    }

    /// Whether the request goes to another origin than the first of its sequence, because a response has led there. Like the hop after a
    /// redirect, it gets none of the session's credentials, and adapters do not run.
    var hasLeftOrigin: Bool { extras?.extras.hasLeftOrigin ?? false }

    /// Returns a copy that is sent through a proxy, to addresses that were looked up for it.
    func through(_ proxy: Proxy, decision: ProxyDecision, addresses: FoundAddresses) -> Request {
        var request = self
        request.changeExtras { $0.selected = SelectedProxy(proxy: proxy, decision: decision, addresses: addresses) }
        return request
    }

    /// Returns a copy that is sent to an alternative service, or to its origin if that is `nil`.
    func sent(to alternative: AlternativeService?) -> Request {
        var request = self
        request.changeExtras { $0.alternative = alternative }
        return request
    }

    /// Returns a copy that is sent to an endpoint of its origin, by a route that leads there.
    func sent(to endpoint: Endpoint, by route: Route) -> Request {
        var request = self
        request.changeExtras { extras in
            extras.endpoint = SelectedEndpoint(endpoint: endpoint, route: extras.route)
            extras.route = route
        }
        return request
    }

    /// The request without the endpoint to which it is sent. The program may send it again, and another endpoint is chosen then.
    var withoutEndpoint: Request {
        guard let selected = extras?.extras.endpoint else { return self }
        var request = self
        request.changeExtras { extras in
            (extras.endpoint, extras.route) = (nil, selected.route)
        }
        return request
    }

    /// The time that the body waits for the server's permission: ``expectContinueTimeout``, or one second if the expectation was written
    /// as a field. `nil` if the body does not wait, or the request has no body (RFC 9110, section 10.1.1).
    package var bodyWait: Duration? {
        guard let body else { return nil }
        if case .data(let data) = body.source, data.isEmpty { return nil }
        return expectContinueTimeout ?? (hasExpectation ? .seconds(1) : nil)
    }

    /// Whether the expectation was written as a field.
    var hasExpectation: Bool { headers[.expect]?.lowercasedASCII() == "100-continue" }

    mutating func changeExtras(_ change: (inout RequestExtras) -> Void) {
        var changed = extras?.extras ?? RequestExtras()
        change(&changed)
        extras = RequestExtras.Box(changed)
    }

    /// Returns a copy that waits for the server's permission before its body is sent: see ``expectContinueTimeout``.
    ///
    /// - Parameter wait: The longest time that the body waits; one second by default.
    public func withContinueExpectation(waiting wait: Duration? = .seconds(1)) -> Request {
        setting(\.expectContinueTimeout, to: wait)
    }

    /// Returns a copy with other proxies: see ``proxy``. `nil` means the session's.
    public func withProxy(_ proxy: ProxyConfiguration?) -> Request { setting(\.proxy, to: proxy) }

    /// Returns a copy whose response has the certificates of the server: see ``collectsServerTrust``.
    public func collectingServerTrust(_ collects: Bool? = true) -> Request {
        setting(\.collectsServerTrust, to: collects)
    }

    /// Returns a copy with another way to its server: see ``route``. `nil` means the session's.
    public func withRoute(_ route: Route?) -> Request { setting(\.route, to: route) }

    /// Returns a copy with another use of the session's cache: see ``cacheMode``.
    public func withCacheMode(_ mode: CacheMode) -> Request { setting(\.cacheMode, to: mode) }

    /// Returns a copy with a template of the URL's path for spans and metrics: see ``urlTemplate``. `nil` means none.
    public func withURLTemplate(_ template: String?) -> Request { setting(\.urlTemplate, to: template) }

    /// Returns a copy with limits on the speed of its bodies: see ``bandwidth``.
    public func withBandwidth(upload: BandwidthLimit? = nil, download: BandwidthLimit? = nil) -> Request {
        setting(\.bandwidth, to: BandwidthLimits(upload: upload, download: download))
    }
}

/// The endpoint of an exchange.
struct SelectedEndpoint: Sendable {
    let endpoint: Endpoint
    /// The request's own route, which the route to the endpoint replaces, if any.
    let route: Route?
}

/// The proxy of an exchange, with the decision that it comes from.
struct SelectedProxy: Sendable {
    let proxy: Proxy
    let decision: ProxyDecision
    let addresses: FoundAddresses
}

/// The addresses that a resolver has found for an exchange.
struct FoundAddresses: Sendable {
    /// The addresses of the host to which the connection is made; `nil` if the resolver was not asked.
    var server: [IPAddress]?
    /// The addresses of the proxy that is connected first; `nil` if the resolver was not asked.
    var proxy: [IPAddress]?
    /// The addresses of the HTTP proxy after a SOCKS proxy; `nil` if the resolver was not asked.
    var secondProxy: [IPAddress]?
    /// The only address of the server that a SOCKS proxy is asked for; `nil` if there is no choice.
    var choice: IPAddress?
}
