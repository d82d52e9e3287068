/// What a request took, as far as it came.
public struct Metrics: Sendable, Hashable {
    /// Waiting for a free connection slot of the session.
    public var queued: Duration = .zero
    /// Resolving the name. Zero on a connection that was used before; the same goes for ``connect`` and ``tls``.
    public var nameLookup: Duration = .zero
    /// Connecting, after the name was resolved. With HTTP/3, TLS included.
    public var connect: Duration = .zero
    /// The TLS handshake.
    public var tls: Duration = .zero
    /// From the call to the first byte of the response; zero if none came.
    public var firstByte: Duration = .zero
    /// From the call to the end.
    public var total: Duration = .zero
    /// Bytes of head and body that were sent.
    public var bytesSent: Int64 = 0
    /// Bytes of heads and body that came, before decoding.
    public var bytesReceived: Int64 = 0
    /// The protocol, once a head has come.
    public var version: HTTPVersion?
    /// No connection had to be made.
    public var reusedConnection = false
    /// The address that was connected to, with its port: `192.0.2.1:443`, `[2001:db8::1]:443`.
    public var peerAddress: String?
    /// How often the request was started.
    public var attempts = 0

    /// Metrics of nothing.
    public init() {}
}
