/// The rules by which an ``EventSource`` opens its stream again, and a ``WebSocketSequence`` its connection.
///
/// The wait lasts for the reconnection time: the time of the server's last `retry` field, or ``initialDelay`` before the first
/// one. After a connection that failed or was lost, a random part (full jitter) of a span is added. The span begins with the
/// reconnection time, but a second at least, and doubles with every failure in a row up to ``maximumBackoff``: so the clients of
/// a server that has been down do not all return at once. WHATWG HTML, section 9.2.3, leaves that to the client.
public struct ReconnectionPolicy: Sendable, Hashable {
    /// The reconnection time until the server gives one: 3 s unless set. The server of a WebSocket gives none.
    public var initialDelay: Duration
    /// The shortest wait, even if the server asks for a shorter one: 100 ms unless set. A server that says `retry: 0` and ends
    /// every stream at once does not get requests without a pause.
    public var minimumDelay: Duration
    /// The most that the backoff adds to the reconnection time: 60 s unless set.
    public var maximumBackoff: Duration
    /// The number of failures in a row that ends the sequence; `nil`, the default, if there is no limit. A
    /// response with a stream of events begins a new count, and so do a WebSocket's end and its
    /// first message, where the end has the code 1000, 1001 or none.
    public var maximumFailures: Int?
    /// Whether an ``EventSource`` repeats a request whose method is not idempotent (RFC 9110, section 9.2.2), such as a `POST`: `false`
    /// unless set. Such a request is then sent once: the end of its stream is the end of the sequence, and a loss is an error. The
    /// handshake of a WebSocket is a `GET`, and is repeated in any case.
    public var repeatsAnyMethod: Bool

    /// Creates rules; values that are not given have their defaults.
    ///
    /// - Parameters:
    ///   - initialDelay: The reconnection time until the server gives one.
    ///   - minimumDelay: The shortest wait.
    ///   - maximumBackoff: The most that the backoff adds to the reconnection time.
    ///   - maximumFailures: The number of failures in a row that ends the sequence; `nil` if there is no limit.
    ///   - repeatsAnyMethod: Whether an event source repeats a request whose method is not idempotent.
    public init(
        initialDelay: Duration = .seconds(3), minimumDelay: Duration = .milliseconds(100),
        maximumBackoff: Duration = .seconds(60), maximumFailures: Int? = nil,
        repeatsAnyMethod: Bool = false
    ) {
        self.initialDelay = initialDelay
        self.minimumDelay = minimumDelay
        self.maximumBackoff = maximumBackoff
        self.maximumFailures = maximumFailures
        self.repeatsAnyMethod = repeatsAnyMethod
    }

    /// Returns the time to wait.
    ///
    /// - Parameters:
    ///   - failures: The number of connections that failed or were lost since the last one that worked; 0 after a stream that
    ///     ended properly.
    ///   - reconnectionTime: The time of the server's last `retry` field.
    ///   - random: A number from 0 up to 1.
    package func delay(failures: Int, reconnectionTime: Duration?, random: Double) -> Duration {
        let base = max(reconnectionTime ?? initialDelay, minimumDelay)
        guard failures > 0 else { return base }
        return base + max(base, .seconds(1)).backoff(after: failures, upTo: maximumBackoff) * random
    }
}
