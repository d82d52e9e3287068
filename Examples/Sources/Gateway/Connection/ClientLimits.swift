import NIOCore

/// The limits on the time of a client's connection. A session has others, and does not know the client.
struct ClientLimits: Sendable {
    /// The time for which a connection without a request is kept.
    let idle: TimeAmount
    /// The time from the first byte of a head to its last.
    let head: TimeAmount
    /// The time in which nothing of a request's body arrives, or nothing of a response can be sent.
    let stall: TimeAmount
    /// The time for which the rest of a client's bytes is read after the last response, so that the response is not lost (RFC 9112, section
    /// 9.6).
    let linger = TimeAmount.seconds(2)
    /// The time after which a client that has ended its side is probed for the first time. It doubles with each probe of a response.
    let probe = TimeAmount.seconds(1)
    /// The number of bytes of later requests that are read during a response.
    let pipelined = 64 << 10
    /// The number of bytes of a response that wait in the kernel before they are sent.
    let unsent: ChannelOptions.Types.SocketOption.Value = 128 << 10

    /// - Parameters:
    ///   - stall: The time in which a client sends or takes nothing.
    ///   - idle: The time for which a connection without a request is kept.
    init(stall: Duration, idle: Duration) {
        self.idle = TimeAmount(idle)
        self.stall = TimeAmount(stall)
        head = min(.nanoseconds(self.stall.nanoseconds / 2), .seconds(30))
    }
}
