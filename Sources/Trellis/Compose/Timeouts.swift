/// How long a request may take, and each part of it. `nil` means no limit.
///
/// All are kept by the framework's own timers. Time in which the reader of a stream, or ``DataRequest/suspend()``, holds up
/// the transfer does not count as idle, but it counts towards ``total``.
public struct Timeouts: Sendable, Hashable {
    /// From leaving the queue until the connection is ready: name resolution, TCP and TLS. Ten seconds unless given.
    public var connect: Duration?
    /// From sending the last bytes of the request until the response's head has come. 60 seconds unless given.
    public var responseHead: Duration?
    /// Without a byte in either direction, once connected. 60 seconds unless given.
    public var idle: Duration?
    /// From the call to the last byte of the body: queueing, connecting, sending and receiving together. Five minutes
    /// unless given. A body that drips cannot outlive it; give `nil` for streams without an end.
    public var total: Duration?

    /// Limits on time.
    public init(
        connect: Duration? = .seconds(10), responseHead: Duration? = .seconds(60), idle: Duration? = .seconds(60),
        total: Duration? = .seconds(300)
    ) {
        self.connect = connect
        self.responseHead = responseHead
        self.idle = idle
        self.total = total
    }
}

/// The defaults of ``Timeouts`` for a body without an end: no limit in total.
extension Timeouts {
    /// As the defaults, without ``total``.
    public static let endless = Timeouts(total: nil)
}
