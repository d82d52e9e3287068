/// The limits of a connection on HTTP/2, in one table.
///
/// An honest server meets none of them: each is related to the work of the connection or to time, or lies far beyond what servers do.
struct HTTP2Limits: Hashable, Sendable {
    /// The limits that all connections have.
    static let standard = Self()

    // MARK: Streams

    /// The number of streams that may be open before the server's settings are known (RFC 9113, section 6.5.2, recommends at least 100).
    var streamsBeforeSettings = 100
    /// The number of streams that may be open, whatever the server allows.
    var streams = 1_000
    /// The number of streams after which a connection takes no more. The numbers of streams end at 2³¹ − 1.
    var streamsOfAConnection = 1 << 30 - 1

    /// The window in bytes with which a stream begins.
    var streamWindow = 256 << 10
    /// The window in bytes with which a stream begins as long as the server does not know ``streamWindow`` (RFC 9113, section 6.9.2).
    static let initialWindow = 65_535

    // MARK: Frames

    /// The time in which the server acknowledges this side's settings.
    var settingsTime = Duration.seconds(30)
    /// The number of CONTINUATION frames of a header block. nghttp2 has the same limit. The bytes and the fields of all heads of a response
    /// are limited by its transfer, as on HTTP/1.1.
    var continuations = 8
    /// The number of this side's frames, apart from DATA, that wait for a server that does not read.
    var waitingFrames = 10_000

    /// Returns the number of frames of a kind that are allowed without work.
    func allowance(of kind: HTTP2Overhead) -> HTTP2Allowance {
        switch kind {
        case .ping: HTTP2Allowance(burst: 128, perSecond: 4)
        case .settings: HTTP2Allowance(burst: 64, perSecond: 1)
        case .reset: HTTP2Allowance(burst: 128, perSecond: 0)
        case .windowUpdate: HTTP2Allowance(burst: 1_024, perSecond: 16)
        case .emptyData: HTTP2Allowance(burst: 128, perSecond: 4)
        case .lateHeaders: HTTP2Allowance(burst: 128, perSecond: 0)
        case .other: HTTP2Allowance(burst: 256, perSecond: 4)
        }
    }

    /// Returns the number of frames of a kind that work explains.
    func earned(by work: HTTP2Work, for kind: HTTP2Overhead) -> Int {
        switch kind {
        // A server that measures the round trip sends one with each turn of content.
        case .ping: work.receivedData + work.sentData
        case .settings: 0
        case .reset: work.streams
        // Two for a new stream, whose window the server enlarges. Two for each frame that the server takes, for the stream and the
        // connection, and two for each part of it that the server's program reads.
        case .windowUpdate: 2 * (work.streams + work.sentData) + work.sentBytes >> 9
        // Servers flush their buffers with such frames, and some end each piece with one.
        case .emptyData: work.heads + work.receivedData
        // Informational heads, the head and the trailers, which were on the way.
        case .lateHeaders: 3 * work.resets
        // Some servers send a frame of an unknown type with each response, or a GOAWAY after each one.
        case .other: work.heads
        }
    }
}
