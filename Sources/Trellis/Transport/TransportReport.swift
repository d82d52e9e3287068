package import CurlEngine

/// What a transport measured of one attempt. Times are nanoseconds from the start of the attempt; zero: it did not come to that,
/// or the connection was reused.
public struct TransportReport: Sendable, Hashable {
    /// The name was resolved.
    public var nameLookup: Int64 = 0
    /// TCP was connected.
    public var connect: Int64 = 0
    /// TLS was done.
    public var tls: Int64 = 0
    /// The first byte of the response.
    public var firstByte: Int64 = 0
    /// Bytes of head and body sent.
    public var bytesSent: Int64 = 0
    /// Bytes of heads and body received, before decoding.
    public var bytesReceived: Int64 = 0
    /// No connection was made.
    public var reusedConnection = false
    /// The peer's address.
    public var peerHost = ""
    /// The peer's port.
    public var peerPort = 0

    /// A report of nothing.
    public init() {}

    package init(_ report: TransferReport) {
        nameLookup = report.nameLookup * 1000
        connect = report.connect * 1000
        tls = report.tls * 1000
        firstByte = report.firstByte * 1000
        bytesSent = report.bytesSent
        bytesReceived = report.bytesReceived
        reusedConnection = report.reusedConnection
        peerHost = report.peerAddress
        peerPort = report.peerPort
    }
}
