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
