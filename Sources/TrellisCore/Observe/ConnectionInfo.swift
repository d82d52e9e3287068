/// The connection on which a request is sent, when it is ready: ``RequestEvent/Kind/connected(_:)``.
///
/// The durations describe how the connection was made. They are zero for a connection that existed before, and where the transport
/// does not know them.
public struct ConnectionInfo: Sendable, Hashable {
    /// Whether the connection existed before: an earlier request has used it, or other requests use it at the same time.
    public package(set) var isReused = false
    /// Whether the connection carries several requests at a time, each as a stream, as over HTTP/2 (RFC 9113, section 5) and
    /// HTTP/3 (RFC 9114, section 6.1).
    public package(set) var isShared = false
    /// The version of HTTP that was negotiated; `nil` if the transport does not know it before the response.
    ///
    /// A server that was offered HTTP/1.1 may still respond with HTTP/1.0: the version of the response is ``Metrics/version``.
    public package(set) var version: HTTPVersion?
    /// Whether the connection is encrypted up to the server. TLS with a proxy alone does not count.
    public package(set) var isSecure = false
    /// The address of the peer with its port, such as `192.0.2.1:443` or `[2001:db8::1]:443`, or the path of its Unix domain socket; `nil`
    /// if unknown. The peer is the proxy if there is one.
    public var peerAddress: String? { Metrics.address(host: peerHost, port: peerPort) }
    /// The port of the connection at this machine, which distinguishes it from the other open connections to its peer; `nil` if unknown,
    /// and for a Unix domain socket.
    public package(set) var localPort: Int?
    /// The number of the request's stream on the connection, over HTTP/2 (RFC 9113, section 5.1.1); `nil` if there is none, and if unknown.
    public package(set) var streamNumber: Int?
    /// The URL of the proxy, without credentials, if any.
    public package(set) var proxyURL: String?
    /// The time of resolving the host name by the transport. A ``SessionConfiguration/resolver`` has resolved it before.
    public var nameLookup: Duration { .nanoseconds(nameLookupTime) }
    /// The time of connecting, after the host name was resolved. With HTTP/3, TLS is included.
    public var connect: Duration { .nanoseconds(connectTime) }
    /// The time of the TLS handshake.
    public var tls: Duration { .nanoseconds(tlsTime) }

    // Stored in nanoseconds, as the times of ``Metrics``.
    var peerHost = ""
    var peerPort = 0
    var nameLookupTime: Int64 = 0
    var connectTime: Int64 = 0
    var tlsTime: Int64 = 0

    /// Creates the description of a connection that is not known.
    package init() {}
}

extension ConnectionInfo: CustomStringConvertible {
    /// The known facts in words: `connected to 192.0.2.1:443 over HTTP/2 on a shared connection, stream 5`.
    public var description: String {
        var words = "connected"
        if let peerAddress { words += " to \(peerAddress)" }
        if let version { words += " over HTTP/\(version)" }
        if isReused { words += isShared ? " on a shared connection" : " on a kept connection" }
        if let streamNumber { words += ", stream \(streamNumber)" }
        return words
    }
}
