/// The settings that all transfers of an engine share.
package struct EngineConfiguration: Sendable {
    /// The time in seconds after which an idle connection is not reused.
    package var idleLifetimeSeconds = 45
    /// The age in seconds after which a connection is not reused; 0 if there is no limit.
    package var maximumLifetimeSeconds = 3600
    /// The largest number of connections that are kept.
    package var maximumConnections = 256
    /// The largest number of connections to one origin over HTTP/2, and over HTTP/3.
    package var sharedConnections = 4
    /// The time in milliseconds after which the system ends a connection whose peer does not take sent bytes; 0 for the system's own limit.
    package var sendingLimitMilliseconds: UInt32 = 120_000
    /// The addresses to which connections may be made; `nil` for all.
    package var egress: EgressRules?
    /// The bound on lookups of host names, which all engines with a copy of this configuration share.
    package var lookups = LookupLimit()

    /// Whether connections from local addresses that the machine loses are not used for further requests.
    package var followsNetworkChanges = true

    /// The header lines of requests whose ``TransferOptions/headerLines`` are `nil`.
    package var defaultHeaderLines = HeaderLines()

    /// The observer of the connections; `nil` if they are not observed.
    package var connectionObserver: (any ConnectionObserver)?

    /// The settings of connections over HTTP/2.
    var http2 = HTTP2Session.Settings()

    /// The time without a byte after which a server of HTTP/2 is sent a PING while requests wait; `nil` if none is sent.
    package var pingInterval: Duration? {
        get { http2.keepalive.interval }
        set { http2.keepalive.interval = newValue }
    }

    /// The time for the answer.
    package var pongTimeout: Duration {
        get { http2.keepalive.patience }
        set { http2.keepalive.patience = newValue }
    }

    /// The time without a byte after which a PING is sent while no request waits; `nil` if none is sent.
    package var idlePingInterval: Duration? {
        get { http2.keepalive.idleInterval }
        set { http2.keepalive.idleInterval = newValue }
    }

    /// The size in bytes to which the window of a stream grows over HTTP/2, at most `Int32.max`.
    package var largestWindow: Int {
        get { http2.largestWindow }
        set {
            http2.largestWindow = newValue
            http2.connectionWindow = max(http2.connectionWindow, Int32(clamping: newValue))
        }
    }

    /// Whether connections with TLS are made. A libcurl without the OpenSSL at hand would check less than promised: names against
    /// common names too, and no chains for pins.
    package var usesTLS = LibcurlFeatures.current.hasOpenSSL

    /// Whether the engine speaks HTTP/2, so that several requests can share a connection. Otherwise it speaks HTTP/1.1: nghttp2 was not
    /// found, or TLS sessions cannot be taken over from this libcurl.
    package static let sharesConnections = HTTP2Session.isAvailable && LibcurlFeatures.current.lendsSessions

    /// Creates a configuration with the default values.
    package init() {}

    /// Returns the failure of a transfer that needs what is missing; `nil` if nothing is.
    func refusal(of options: TransferOptions) -> EngineFailure? {
        if options.connectionCount != nil, !options.isForWire {
            return EngineFailure(kind: .unsupported, message: "connections in advance for what libcurl itself sends")
        }
        if options.demandsHTTP2, !options.sharesStreams {
            let lack =
                Self.sharesConnections
                ? "through this proxy" : "without nghttp2, or with a libcurl that lends no TLS sessions"
            return EngineFailure(kind: .unsupported, message: "HTTP/2 \(lack)")
        }
        if options.version == .http3Only, let proxy = options.route.proxy {
            return EngineFailure(
                kind: .proxy(name: proxy.name, .unreachable), message: "HTTP/3 needs UDP, which proxies do not forward")
        }
        if options.version == .http3Only, options.route.unixSocket != nil {
            return EngineFailure(kind: .unsupported, message: "HTTP/3 over a Unix domain socket")
        }
        guard !usesTLS, options.isEncryptedOnTheWire else { return nil }
        return EngineFailure(kind: .unsupported, message: "TLS: \(LibcurlFeatures.current.lackOfOpenSSL)")
    }
}
