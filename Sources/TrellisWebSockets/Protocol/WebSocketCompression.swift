import TrellisCore

/// The compression of a ``WebSocket``'s messages (permessage-deflate, RFC 7692), which the server may accept or not.
///
/// The defaults compress best: a context that is kept and windows of 32 KiB, which take about 300 KiB for a connection that has sent
/// compressed messages and 45 KiB for one that has received some. Smaller windows take less, for programs with many connections: with
/// windows of 12 bits, about 40 KiB and 12 KiB.
public struct WebSocketCompression: Sendable, Hashable {
    /// The size in bytes from which messages are compressed: 1,024 unless set. Smaller ones are sent as they are.
    public var threshold: Int
    /// The logarithm of the window for sent messages in bytes, from 8 to 15: 15 unless set. The server may demand a smaller one.
    public var clientWindowBits: Int { didSet { clientWindowBits = Self.clamped(clientWindowBits) } }
    /// The logarithm of the window for received messages in bytes, from 8 to 15: 15 unless set. A server that does not agree to a smaller
    /// one does not compress.
    public var serverWindowBits: Int { didSet { serverWindowBits = Self.clamped(serverWindowBits) } }
    /// Whether sent messages may repeat bytes of earlier messages, `true` unless set. The server may forbid it.
    public var clientKeepsContext: Bool
    /// Whether received messages may repeat bytes of earlier messages, `true` unless set.
    public var serverKeepsContext: Bool

    /// Creates settings; values that are not given have their defaults, and window sizes out of range are those at its ends.
    public init(
        threshold: Int = 1024, clientWindowBits: Int = 15, serverWindowBits: Int = 15, clientKeepsContext: Bool = true,
        serverKeepsContext: Bool = true
    ) {
        self.threshold = threshold
        self.clientWindowBits = Self.clamped(clientWindowBits)
        self.serverWindowBits = Self.clamped(serverWindowBits)
        self.clientKeepsContext = clientKeepsContext
        self.serverKeepsContext = serverKeepsContext
    }

    private static func clamped(_ bits: Int) -> Int { min(max(bits, 8), 15) }
}
