/// A body as a stream of server-sent events (WHATWG HTML, section 9.2).
///
/// The stream ends with the body. For a stream that is opened again whenever it ends, see
/// ``EventSource``.
public struct ServerSentEventSequence: AsyncSequence, Sendable {
    /// An event.
    public typealias Element = ServerSentEvent

    /// The default limit on the size of an event in bytes: 16 MiB.
    public static let maximumEventSize = 16 << 20

    private let body: ResponseBody
    private let limit: Int

    init(_ body: ResponseBody, limit: Int) {
        self.body = body
        self.limit = limit
    }

    /// Returns an iterator that reads the body.
    public func makeAsyncIterator() -> Iterator { Iterator(body, limit: limit) }

    /// The iterator over the events. An event above the limit is an error of kind ``TrellisError/Kind/bodyTooLarge``; an event that
    /// is not complete at the end of the body is dropped.
    public struct Iterator: BufferedIterator {
        /// An event.
        public typealias Element = ServerSentEvent

        private var reader: BodyReader<ServerSentEventParser>

        /// Creates an iterator over a body that continues the stream with a last event ID; empty if it continues none.
        package init(_ body: ResponseBody, limit: Int, lastEventID: String = "") {
            reader = BodyReader(ServerSentEventParser(limit: limit, lastEventID: lastEventID), body)
        }

        /// The value to send as `Last-Event-ID` when the stream is opened again: the ID at the last blank line.
        package var lastEventID: String { reader.machine.lastEventID }

        /// The last reconnection time that the server gave.
        package var reconnectionTime: Duration? { reader.machine.reconnectionTime }

        @usableFromInline
        mutating func take() throws -> ServerSentEvent? { try reader.take() }

        @usableFromInline
        mutating func feed() async throws -> Bool { try await reader.feed() }
    }
}

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
