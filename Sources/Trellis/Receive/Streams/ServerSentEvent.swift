/// One event of an event stream (WHATWG HTML, section 9.2).
public struct ServerSentEvent: Sendable, Hashable {
    /// The type of the event: `message` unless the server gave one.
    public var event: String
    /// The data, its lines joined by line feeds.
    public var data: String
    /// The last event ID: the one that came with this event or, where none did, with the last one before it that had one.
    /// Empty if there is none.
    public var id: String
    /// The reconnection time that came with the event, if one did.
    public var retry: Duration?

    /// An event.
    @inlinable
    public init(event: String = "message", data: String, id: String = "", retry: Duration? = nil) {
        self.event = event
        self.data = data
        self.id = id
        self.retry = retry
    }
}
