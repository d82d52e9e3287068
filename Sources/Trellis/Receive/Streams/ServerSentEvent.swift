/// An event of an event stream (WHATWG HTML, section 9.2).
public struct ServerSentEvent: Sendable, Hashable {
    /// The type of the event: `message` unless the server gave one.
    public var event: String
    /// The data, its lines joined by line feeds.
    public var data: String
    /// The last event ID: the ID of this event or, if that has none, of the last event before that had one. Empty if there is none.
    public var id: String
    /// The reconnection time that was sent with the event; `nil` if there was none.
    public var retry: Duration?

    /// Creates an event.
    @inlinable
    public init(event: String = "message", data: String, id: String = "", retry: Duration? = nil) {
        self.event = event
        self.data = data
        self.id = id
        self.retry = retry
    }
}
