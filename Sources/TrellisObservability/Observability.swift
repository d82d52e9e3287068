#if Observability
public import CoreMetrics
import CurlEngine
import FoundationEssentials
public import Logging
public import Tracing
import TrellisCore

/// The observation of a session's requests by logs, metrics and traces, with the names of OpenTelemetry's conventions for HTTP clients.
///
/// ```swift
/// var configuration = SessionConfiguration()
/// configuration.observe()
/// ```
///
/// The logger, the tracer and the metrics factory are resolved for each request, in the task that makes it: from `withLogger`,
/// `withTracer` and `withMetricsFactory` if the task runs in such a scope, or else those that the process was bootstrapped with. The task
/// of a handle, of a shared call (``/Trellis/RequestCoalescing``) and of a download has the scope of the first task that asked for it.
///
/// Each request on the wire is observed: every retry, every redirect, and every repetition with credentials. A response that a cache has
/// stored, and a request that a limit refuses, have neither a span nor a duration.
///
/// Every part can be switched off. A session whose configuration is not observed pays for nothing.
public struct Observability: Sendable {
    /// Whether each request on the wire has a span of the kind `client`. The default is `true`.
    ///
    /// The span begins when the request is about to wait for a connection. It ends with the complete response if the body is collected, and
    /// with the head of the response if the body is streamed, as the conventions recommend: the reader of a stream may never read to its
    /// end.
    public var createsSpans = true
    /// Whether each call has a span of the kind `internal`, named `trellis.call`, around the spans of its requests. The default
    /// is `false`, because the conventions want none.
    public var createsCallSpans = false
    /// Whether the context of the span, or else of the task, is added to the fields of the request by the tracer, or by the
    /// instruments that the process was bootstrapped with: for example as `traceparent` and `tracestate`. Fields of the same names are
    /// replaced. The default is `true`: which hosts get what is up to ``propagation`` and ``baggagePropagation``.
    public var propagatesContext = true
    /// The hosts that get the fields of the context. The default is ``Propagation/everywhere``.
    ///
    /// Each request on the wire goes by the host of its own URL: one that a redirect has led to another host, or a retry there, has
    /// nothing of the request before. A proxy, an alternative service and a ``/Trellis/ConnectTo`` change no URL.
    public var propagation = Propagation.everywhere
    /// The hosts that get the baggage of the context, which can name users; `nil` by default: the hosts that ``propagation`` or
    /// ``propagatesContextToHost`` names, and no host if neither names any. With ``Propagation/everywhere``, every server gets it, those of
    /// others included.
    ///
    /// Baggage is the field `baggage` (W3C Baggage, section 3.1), and what tracers have written instead: `correlation-context`,
    /// `jaeger-baggage`, and fields whose names begin with `uberctx-` or `ot-baggage-`.
    public var baggagePropagation: Propagation?
    /// Returns whether the context is added to requests to a host, given in lower case and in ASCII form, without brackets and without a
    /// dot at its end; `nil`, the default, if ``propagation`` and ``baggagePropagation`` alone decide. A host has to be admitted by both.
    public var propagatesContextToHost: (@Sendable (_ host: String) -> Bool)?
    /// Whether spans have the attribute `user_agent.original`. The default is `false`.
    public var recordsUserAgent = false
    /// The metrics that are recorded. The default is ``MetricSet/all``.
    public var metrics = MetricSet.all
    /// The levels of the lines in the log; `LogLevels()` by default.
    public var logLevels = LogLevels()
    /// The methods that spans and metrics name; any other method is `_OTHER`. The default is the value of the environment's variable
    /// `OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS`, methods separated by commas, or else the methods of RFC 9110, section 9.3, `PATCH`
    /// (RFC 5789) and `QUERY`.
    public var knownMethods = Self.knownMethodsOfEnvironment
    /// The number of servers, each a host with a port, that metrics name. Any later server is `_OTHER`. The default is 100.
    public var maximumServerCount = 100
    /// The number of series, each a combination of values of dimensions, that are recorded. The values of any later series are `_OTHER` or
    /// empty. The default is 2,000, as in the SDKs of OpenTelemetry.
    public var maximumSeriesCount = 2_000
    /// Whether dimensions without a value, such as `error.type` of a success, are left out. The default is `false`: they are
    /// empty, because some backends, such as Prometheus, want the same dimensions in all series of a metric. With a backend that does not,
    /// such as one for OTLP, `true` follows the conventions more closely.
    public var omitsEmptyDimensions = false
    /// The logger of all requests; if `nil`, the default, `Logger.current` of the task of each request, or a logger with the label
    /// `trellis.http` outside of any scope.
    public var logger: Logger?
    /// The tracer of all requests; if `nil`, the default, each request's task names it.
    public var tracer: (any Tracer)?
    /// The metrics factory of all requests; if `nil`, the default, each request's task names it.
    ///
    /// Instruments are kept for each factory that is an object. A factory that is a value has no identity, so that instruments are
    /// requested from it for each request, unless it is set here.
    public var metricsFactory: (any MetricsFactory)?

    /// Creates the default observation: spans, all metrics, and lines in the log.
    public init() {}

    private static let knownMethodsOfEnvironment = knownMethods(environment: ProcessInfo.processInfo.environment)

    /// Returns the known methods of an environment.
    static func knownMethods(environment: [String: String]) -> Set<String> {
        guard let list = environment["OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS"] else {
            return ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"]
        }
        return Set(list.split(atByte: ",").map(\.withoutBlanks))
    }
}

extension Observability {
    /// A set of metrics. Durations are in seconds, sizes in bytes.
    ///
    /// The metrics of requests have the dimensions `http.request.method`, `server.address`, `server.port` and `url.template`
    /// (``/Trellis/Request/urlTemplate``), and those that are named with them here. The metrics of connections have `server.address` and
    /// `server.port`, of the URL of the request that the connection was made for.
    public struct MetricSet: OptionSet, Sendable, Hashable {
        /// The bits of the set.
        public let rawValue: Int

        /// Creates a set from its bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// The timer `http.client.request.duration` of each request on the wire, which measures what its span does, with
        /// `http.response.status_code`, `error.type` and `network.protocol.version`.
        public static let requestDuration = MetricSet(rawValue: 1 << 0)
        /// The recorder `http.client.request.body.size` of each request with a body, with the dimensions of ``requestDuration``: the bytes
        /// that were sent, compressed if the request compresses them. A request that was not sent has no value.
        public static let requestBodySize = MetricSet(rawValue: 1 << 1)
        /// The recorder `http.client.response.body.size` of each request whose response has a head, with the dimensions of
        /// ``requestDuration``: the bytes that were received, before decoding, without the framing of chunks. Another
        /// ``/Trellis/Transport`` may deliver bodies that are decoded already. The sizes of a streamed response and of its request are
        /// recorded when its body has ended, complete or not.
        public static let responseBodySize = MetricSet(rawValue: 1 << 2)
        /// The meter `http.client.active_requests`: the number of requests on the wire, or waiting for a connection.
        public static let activeRequests = MetricSet(rawValue: 1 << 3)
        /// The timer `trellis.client.queue.duration` of the wait of each request for the limits of its host and for a connection. A request
        /// that its caller has cancelled has no value.
        public static let queueDuration = MetricSet(rawValue: 1 << 4)
        /// The counter `trellis.client.retries`, with `error.type`.
        public static let retries = MetricSet(rawValue: 1 << 5)
        /// The counter `trellis.client.cache` of the requests that asked a cache, with `trellis.cache.result`: `hit`, `collapsed`
        /// (the response to an equal request), `revalidated`, `stale` (instead of a failure), `miss`, `bypass` or `unsatisfiable`.
        public static let cacheResults = MetricSet(rawValue: 1 << 6)
        /// The meter `http.client.open_connections` of the connections of sessions that are made, TLS included, and not closed, with
        /// `http.connection.state`: `active` or `idle`. Up to ten milliseconds old. The values go to the factory of the session's last
        /// request that had one; when that changes, the values of the earlier factory become zero. Connections of another
        /// ``/Trellis/Transport`` are not counted.
        public static let openConnections = MetricSet(rawValue: 1 << 7)
        /// The timer `http.client.connection.duration` of these connections, from the end of their making to their end.
        public static let connectionDuration = MetricSet(rawValue: 1 << 8)
        /// All of these metrics.
        public static let all: MetricSet = [
            .requestDuration, .requestBodySize, .responseBodySize, .activeRequests, .queueDuration, .retries,
            .cacheResults, .openConnections, .connectionDuration,
        ]
    }
}

extension Observability {
    /// The levels of the lines in the log; a line without a level is not written.
    ///
    /// By default, a failure is a warning, so that a log at the usual level `info` shows it; the program may still recover from it.
    public struct LogLevels: Sendable, Hashable {
        /// The level of the line about each response, of any status, and each cancellation of a request on the wire, and about each
        /// response from a cache; `debug` by default.
        public var exchange: Logger.Level? = .debug
        /// The level of the line about each request on the wire that fails without a complete response, whether it is retried or not;
        /// `warning` by default.
        public var failure: Logger.Level? = .warning
        /// The level of the line about each retry; `info` by default.
        public var retry: Logger.Level? = .info
        /// The level of the line about each circuit that opens or closes (``/Trellis/CircuitBreaker``); `info` by default.
        public var circuit: Logger.Level? = .info

        /// Creates the default levels.
        public init() {}

        /// The highest level of a line about a request on the wire; `nil` if there are no such lines.
        var highest: Logger.Level? { [exchange, failure].compactMap(\.self).max() }

        /// Returns whether a logger writes the lines about responses and cancellations.
        func writesResponses(to logger: Logger) -> Bool { exchange.map { logger.logLevel <= $0 } ?? false }

        /// The levels of a log without lines.
        public static var off: LogLevels {
            var levels = LogLevels()
            (levels.exchange, levels.failure, levels.retry, levels.circuit) = (nil, nil, nil, nil)
            return levels
        }
    }
}
#else
public import TrellisCore

/// The observation of a session's requests by logs, metrics and traces, which needs the trait `Observability` of the package.
@available(*, unavailable, message: "enable the package's trait: .package(…, traits: [\"Observability\"])")
public struct Observability {}

extension SessionConfiguration {
    /// Observes the requests of the session, which needs the trait `Observability` of the package.
    @available(*, unavailable, message: "enable the package's trait: .package(…, traits: [\"Observability\"])")
    public mutating func observe(with observability: Any? = nil) {}
}
#endif
