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

/// The kinds of frame that cost work and move no content. Each has an allowance (``HTTP2Limits/allowances``).
enum HTTP2Overhead: Int, Hashable, Sendable, CaseIterable {
    case ping, settings, reset, windowUpdate, emptyData
    /// HEADERS on streams that this side has reset.
    case lateHeaders
    /// PRIORITY, GOAWAY, acknowledgements that nobody expects, and frames of unknown types.
    case other

    /// The name of the frames, for messages.
    var frames: String {
        switch self {
        case .ping: "PING frames"
        case .settings: "SETTINGS frames"
        case .reset: "RST_STREAM frames"
        case .windowUpdate: "WINDOW_UPDATE frames"
        case .emptyData: "DATA frames without content"
        case .lateHeaders: "HEADERS frames on closed streams"
        case .other: "frames without a purpose"
        }
    }
}

/// What a connection has done for its requests. Frames of overhead are judged in relation to this work.
struct HTTP2Work: Hashable, Sendable {
    /// The number of streams that were opened.
    var streams = 0
    /// The number of streams that this side has reset.
    var resets = 0
    /// The number of heads that were received, informational ones included.
    var heads = 0
    /// The number of DATA frames with content that were received.
    var receivedData = 0
    /// The number of DATA frames that were sent, except those that the server's window cut short.
    var sentData = 0
    /// The number of bytes of content that were sent.
    var sentBytes = 0
}

/// The number of frames of a kind that a server may send: a number at once, more with time, and more with the work of the connection.
struct HTTP2Allowance: Hashable, Sendable {
    /// The number at once.
    let burst: Int
    /// The number a second that is added while fewer than ``burst`` are left.
    let perSecond: Int
}

/// Counts the frames of each kind against their allowances, as token buckets.
///
/// Time fills a bucket up to ``HTTP2Allowance/burst``, and work beyond that, because the frames that answer it may all come later. The
/// work itself is only counted. A bucket is filled when a frame takes from it, so that requests and content cost an addition each.
struct HTTP2FrameMeter: Sendable {
    private struct Bucket: Sendable {
        var tokens: Int
        /// The earned number when the bucket was filled last.
        var earned = 0
        /// The instant up to which time was counted.
        var filled: EngineInstant
    }

    /// The number of bursts that work can save up: enough for the answers to a full window of 16 MiB.
    private static let bursts = 64

    /// The work of the connection up to now.
    var work = HTTP2Work()
    private var buckets: [Bucket]
    private let limits: HTTP2Limits

    /// Creates a meter with full buckets.
    init(_ limits: HTTP2Limits, at now: EngineInstant) {
        self.limits = limits
        buckets = HTTP2Overhead.allCases.map { Bucket(tokens: limits.allowance(of: $0).burst, filled: now) }
    }

    /// Records a frame. Returns whether it is allowed.
    mutating func take(_ kind: HTTP2Overhead, at now: EngineInstant) -> Bool {
        let allowance = limits.allowance(of: kind), earned = limits.earned(by: work, for: kind)
        var bucket = buckets[kind.rawValue]
        bucket.tokens = min(bucket.tokens + earned - bucket.earned, allowance.burst * Self.bursts)
        bucket.earned = earned
        if allowance.perSecond > 0, bucket.tokens < allowance.burst {
            // Whole tokens only, so that frequent frames lose no time.
            let step = 1_000_000_000 / Int64(allowance.perSecond)
            let count = now.nanoseconds(since: bucket.filled) / step
            bucket.tokens = min(bucket.tokens + Int(count), allowance.burst)
            bucket.filled = bucket.filled.advanced(byNanoseconds: UInt64(count * step))
        }
        if bucket.tokens >= allowance.burst { bucket.filled = now }
        bucket.tokens -= 1
        buckets[kind.rawValue] = bucket
        return bucket.tokens >= 0
    }
}
