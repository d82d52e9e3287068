import CurlEngine

/// The durations and byte counts of a request, as far as the request has proceeded.
///
/// If the response is a stored one that the server has confirmed, or that replaces a failure, they describe the exchange with
/// the server, up to its head if the body is streamed. A response from the cache without an exchange has none but ``total``.
public struct Metrics: Sendable, Hashable {
    /// The time of waiting for the limits of the host and for a free connection slot of the session.
    public var queued: Duration {
        get { .nanoseconds(queuedTime) }
        set { queuedTime = newValue.nanoseconds }
    }
    /// The time of resolving the host name. Zero on a connection that was used before; the same applies to ``connect`` and ``tls``.
    public var nameLookup: Duration {
        get { .nanoseconds(nameLookupTime) }
        set { nameLookupTime = newValue.nanoseconds }
    }
    /// The time of connecting, after the host name was resolved. With HTTP/3, TLS is included.
    public var connect: Duration {
        get { .nanoseconds(connectTime) }
        set { connectTime = newValue.nanoseconds }
    }
    /// The time of the TLS handshake.
    public var tls: Duration {
        get { .nanoseconds(tlsTime) }
        set { tlsTime = newValue.nanoseconds }
    }
    /// The time from the call to the first byte of the response; zero if no byte was received.
    public var firstByte: Duration {
        get { .nanoseconds(firstByteTime) }
        set { firstByteTime = newValue.nanoseconds }
    }
    /// The time from the call to the end of the request.
    public var total: Duration {
        get { .nanoseconds(totalTime) }
        set { totalTime = newValue.nanoseconds }
    }
    /// The number of the call in its process, which the call's events have too; 0 for a request that never became a call.
    public package(set) var callID: UInt64 = 0
    /// The bytes of the head and the body that were sent.
    public var bytesSent: Int64 = 0
    /// The bytes of all heads and the body that were received, before decoding.
    public var bytesReceived: Int64 = 0
    /// The version of HTTP; `nil` if no head has been received.
    public var version: HTTPVersion?
    /// Whether the request used an existing connection.
    public var isReusedConnection = false
    /// The address of the peer with its port, such as `192.0.2.1:443` or `[2001:db8::1]:443`, or the path of its Unix domain socket; `nil`
    /// if unknown, as for a socket in the abstract namespace.
    public var peerAddress: String? { Self.address(host: peerHost, port: peerPort) }
    /// What the TLS handshake of the connection has agreed on with the server, also through a tunnel; `nil` without TLS, and if not known.
    public var negotiatedTLS: NegotiatedTLS? { tlsResult.map { NegotiatedTLS($0.value) } }
    /// Whether the connection was kept for further requests after this one; `nil` if that is not known, as when the exchange is cancelled
    /// after the response's head.
    ///
    /// Known for exchanges whose ``RequestEvent/Kind/connected(_:)`` was observed, in the metrics of
    /// ``RequestEvent/Kind/exchangeEnded(_:_:)`` and in those that are made after it.
    public package(set) var isConnectionKept: Bool?
    /// The URL of the proxy that the request went through, without credentials; `nil` if there was none.
    public package(set) var proxyURL: String? {
        get { rare?.value.proxyURL }
        set { change { $0.proxyURL = newValue } }
    }
    /// The certificates of the server; `nil` unless the session has an evaluator for the host (``ServerTrustManager``), or the request or
    /// its session collects them (``Request/collectsServerTrust``).
    public package(set) var serverTrust: ServerTrust? {
        get { rare?.value.serverTrust }
        set { change { $0.serverTrust = newValue } }
    }
    /// The way in which the cache has handled the request; `nil` if the session has no ``Steps/cache``.
    public package(set) var cacheStatus: CacheStatus? {
        get { rare?.value.cacheStatus }
        set { change { $0.cacheStatus = newValue } }
    }
    /// The number of times that the request was started.
    public var attemptCount = 0
    /// The metrics that the server reports about its work in the fields `Server-Timing` of the head and of the trailers, in their order;
    /// empty if no head was received. The fields are parsed each time that the property is read. Two values are equal whatever the server
    /// reports.
    public var serverTimings: [ServerTiming] { reporting.timings }

    /// The values that few requests have.
    private struct RareValues: Sendable, Hashable {
        var proxyURL: String?
        var serverTrust: ServerTrust?
        var cacheStatus: CacheStatus?
    }

    /// Returns the address of a peer with its port, or the path of its socket; `nil` if the host is empty.
    static func address(host: String, port: Int) -> String? {
        guard !host.isEmpty else { return nil }
        if host.utf8.first == UInt8(ascii: "/") { return host }
        return host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    private mutating func change(_ change: (inout RareValues) -> Void) {
        var values = rare?.value ?? RareValues()
        change(&values)
        rare = Boxed(values)
    }

    /// The rare values behind one reference, if there are any.
    private var rare: Boxed<RareValues>?

    /// The head and the trailers in which the server reports.
    var reporting = ServerTimingFields()

    /// The number of bytes of the request's body that were sent, with its content coding. Known at the end of an exchange of a call with
    /// steps.
    package var requestBodySize: Int64 = 0
    /// The number of bytes of the response's body that were received, before decoding. Known when ``requestBodySize`` is.
    package var responseBodySize: Int64 = 0

    // Stored in nanoseconds: every request has metrics, few are read, and a `Duration` costs a multiplication of 128 bits.
    /// The time of ``queued`` in nanoseconds.
    package var queuedTime: Int64 = 0
    /// The address of the peer without its port, or the path of its socket; empty if unknown.
    package var peerHost = ""
    /// The port of the peer; 0 if it has none, or if unknown.
    package var peerPort = 0
    /// The engine's form of ``negotiatedTLS``.
    var tlsResult: Boxed<TLSResult>?
    /// The time of ``nameLookup`` in nanoseconds.
    package var nameLookupTime: Int64 = 0
    /// The time of ``connect`` in nanoseconds.
    package var connectTime: Int64 = 0
    /// The time of ``tls`` in nanoseconds.
    package var tlsTime: Int64 = 0
    /// The time of ``firstByte`` in nanoseconds.
    package var firstByteTime: Int64 = 0
    /// The time of ``total`` in nanoseconds.
    package var totalTime: Int64 = 0

    /// Creates metrics in which every value is zero or `nil`.
    public init() {}
}

extension Duration {
    /// The duration in whole nanoseconds, limited to the range of `Int64`.
    fileprivate var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, sumOverflow) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflow || sumOverflow ? (seconds < 0 ? .min : .max) : sum
    }
}
