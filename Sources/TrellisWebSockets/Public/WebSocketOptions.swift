import TrellisCore

/// The settings of a ``WebSocket``.
public struct WebSocketOptions: Sendable, Hashable {
    /// The subprotocols that are offered, in order of preference: none unless set. The server chooses one of them, or none.
    public var subprotocols: [String]
    /// The limit on a received message in bytes, before and after decompression: 16 MiB unless set. A larger message ends the connection
    /// with an error of kind ``TrellisError/Kind/webSocket`` and the close code 1009.
    public var maximumMessageSize: Int
    /// The limit on the payload of a received frame in bytes; `nil`, the default, if it is that on messages. A larger frame has the same
    /// effect as a larger message.
    public var maximumFrameSize: Int?
    /// The compression that is offered; `nil` if messages are never compressed.
    public var compression: WebSocketCompression?
    /// The time without any bytes from the server after which a ping is sent: 20 s unless set; `nil` if none is sent by itself.
    public var pingInterval: Duration?
    /// The time within which the server must answer a ping that was sent by itself: 20 s unless set; `nil` if there is no limit. While
    /// the reader of the messages is busy and nothing is received for that reason, the time does not count.
    public var pongTimeout: Duration?
    /// The time that closing may take, from the Close frame to the end of the connection, after which the connection is cut: 10 s unless
    /// set.
    public var closeTimeout: Duration
    /// The time that the whole conversation may take, from the call that opens the connection, handshake included: `nil`, the default, if
    /// there is no limit. Then all calls that wait, and later ones, throw an error of kind ``TrellisError/Kind/totalTimeout``; the messages
    /// that wait for their reader (at most 32, or 256 KiB) can still be read before it. The connection is closed with the code 1001 within
    /// ``closeTimeout``. In a sequence of connections the limit applies to each one, whose end counts as a failure.
    public var totalTimeout: Duration?

    /// Creates settings; values that are not given have their defaults.
    public init(
        subprotocols: [String] = [], maximumMessageSize: Int = 16 << 20, maximumFrameSize: Int? = nil,
        compression: WebSocketCompression? = WebSocketCompression(), pingInterval: Duration? = .seconds(20),
        pongTimeout: Duration? = .seconds(20), closeTimeout: Duration = .seconds(10), totalTimeout: Duration? = nil
    ) {
        self.subprotocols = subprotocols
        self.maximumMessageSize = maximumMessageSize
        self.maximumFrameSize = maximumFrameSize
        self.compression = compression
        self.pingInterval = pingInterval
        self.pongTimeout = pongTimeout
        self.closeTimeout = closeTimeout
        self.totalTimeout = totalTimeout
    }
}
