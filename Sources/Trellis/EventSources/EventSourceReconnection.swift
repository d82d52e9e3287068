/// When an ``EventSource`` opens its stream again.
///
/// It waits for the reconnection time: what the server last said in a `retry` field, and ``initialDelay`` before it said
/// anything. Where connections fail or are lost, it adds a random part (full jitter) of a span that begins with the
/// reconnection time, but a second at least, and doubles with every failure in a row up to ``maximumBackoff``: the clients of
/// a server that comes back do not all come at once. WHATWG HTML, section 9.2.3, leaves that to the client.
public struct EventSourceReconnection: Sendable, Hashable {
    /// The reconnection time until the server gives one: 3 s unless set.
    public var initialDelay = Duration.seconds(3)
    /// No wait is shorter, whatever the server says: 100 ms unless set. It keeps a server that says `retry: 0` and ends every
    /// stream at once from getting requests without a pause.
    public var minimumDelay = Duration.milliseconds(100)
    /// What the backoff adds to the reconnection time at most: 60 s unless set.
    public var maximumBackoff = Duration.seconds(60)
    /// After so many failures in a row the last of them ends the sequence; `nil`, the default: never. A response with a
    /// stream of events begins a new count.
    public var maximumFailures: Int?

    /// The defaults.
    public init() {}

    /// How long to wait.
    ///
    /// - Parameters:
    ///   - failures: How many connections failed or were lost since the last one that was well; 0 after a stream that ended
    ///     as it should.
    ///   - reconnectionTime: What the server last said.
    ///   - random: From 0 up to 1.
    func delay(failures: Int, reconnectionTime: Duration?, random: Double) -> Duration {
        let base = max(reconnectionTime ?? initialDelay, minimumDelay)
        guard failures > 0 else { return base }
        var span = min(max(base, .seconds(1)), maximumBackoff)
        for _ in 1..<failures where span < maximumBackoff { span = min(span * 2, maximumBackoff) }
        return base + span * random
    }
}
