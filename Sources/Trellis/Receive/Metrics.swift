/// What a request took, as far as it came.
public struct Metrics: Sendable, Hashable {
    /// Waiting for the limits of the host, and for a free connection slot of the session.
    public var queued: Duration {
        get { .nanoseconds(queuedTime) }
        set { queuedTime = newValue.nanoseconds }
    }
    /// Resolving the name. Zero on a connection that was used before; the same goes for ``connect`` and ``tls``.
    public var nameLookup: Duration {
        get { .nanoseconds(nameLookupTime) }
        set { nameLookupTime = newValue.nanoseconds }
    }
    /// Connecting, after the name was resolved. With HTTP/3, TLS included.
    public var connect: Duration {
        get { .nanoseconds(connectTime) }
        set { connectTime = newValue.nanoseconds }
    }
    /// The TLS handshake.
    public var tls: Duration {
        get { .nanoseconds(tlsTime) }
        set { tlsTime = newValue.nanoseconds }
    }
    /// From the call to the first byte of the response; zero if none came.
    public var firstByte: Duration {
        get { .nanoseconds(firstByteTime) }
        set { firstByteTime = newValue.nanoseconds }
    }
    /// From the call to the end.
    public var total: Duration {
        get { .nanoseconds(totalTime) }
        set { totalTime = newValue.nanoseconds }
    }
    /// Bytes of head and body that were sent.
    public var bytesSent: Int64 = 0
    /// Bytes of heads and body that came, before decoding.
    public var bytesReceived: Int64 = 0
    /// The protocol, once a head has come.
    public var version: HTTPVersion?
    /// No connection had to be made.
    public var reusedConnection = false
    /// The address that was connected to, with its port: `192.0.2.1:443`, `[2001:db8::1]:443`.
    public var peerAddress: String? {
        guard !peerHost.isEmpty else { return nil }
        return peerHost.utf8.contains(UInt8(ascii: ":")) ? "[\(peerHost)]:\(peerPort)" : "\(peerHost):\(peerPort)"
    }
    /// How often the request was started.
    public var attempts = 0

    // Nanoseconds: every request has metrics, few ask for them, and a `Duration` costs a multiplication of 128 bits.
    var queuedTime: Int64 = 0
    var peerHost = ""
    var peerPort = 0
    var nameLookupTime: Int64 = 0
    var connectTime: Int64 = 0
    var tlsTime: Int64 = 0
    var firstByteTime: Int64 = 0
    var totalTime: Int64 = 0

    /// Metrics of nothing.
    public init() {}
}

extension Duration {
    /// Whole nanoseconds, as many as fit.
    fileprivate var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? (seconds < 0 ? .min : .max) : product &+ attoseconds / 1_000_000_000
    }
}
