package import CurlEngine

/// The measurements of a transport for one attempt. Times are nanoseconds from the start of the attempt; zero if the step was not reached,
/// or the connection was reused.
@_spi(Transport) public struct TransportReport: Sendable, Hashable {
    /// The time at which the name was resolved.
    public var nameLookup: Int64 = 0
    /// The time at which TCP was connected.
    public var connect: Int64 = 0
    /// The time at which the TLS handshake was complete.
    public var tls: Int64 = 0
    /// The time of the first byte of the response.
    public var firstByte: Int64 = 0
    /// The number of bytes of head and body that were sent.
    public var bytesSent: Int64 = 0
    /// The number of bytes of heads and body that were received, before decoding.
    public var bytesReceived: Int64 = 0
    /// Whether an existing connection was reused.
    public var isReusedConnection = false
    /// The peer's address.
    public var peerHost = ""
    /// The peer's port.
    public var peerPort = 0
    /// Whether the connection was kept for further requests after the attempt; `nil` if that is not known.
    public var isConnectionKept: Bool?

    /// What the TLS handshake of the connection has agreed on with the server, if known.
    package var tlsResult: Boxed<TLSResult>?

    /// The report of an attempt that has measured nothing.
    static let nothing = Boxed(TransportReport())

    /// Creates an empty report.
    public init() {}

    /// Creates the report of a transfer.
    package init(_ report: TransferReport) {
        self.init()
        add(report)
    }

    /// Separate, because the initializer would end with a copy of its value.
    private mutating func add(_ report: TransferReport) {
        nameLookup = report.nameLookup * 1000
        connect = report.connect * 1000
        tls = report.tls * 1000
        firstByte = report.firstByte * 1000
        bytesSent = report.bytesSent
        bytesReceived = report.bytesReceived
        isReusedConnection = report.isReusedConnection
        peerHost = report.peerAddress
        peerPort = report.peerPort
        isConnectionKept = report.isConnectionKept
        tlsResult = report.tlsResult
    }
}
