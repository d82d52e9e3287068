extension Session {
    /// The events of the session from now on, for as long as they are read. As many observers as you like, each with all events.
    ///
    /// ```swift
    /// let events = session.requestEvents
    /// Task { for await event in events { print(event.callID, event.kind) } }
    /// ```
    ///
    /// A reader that is slower than the session loses the oldest beyond ``SessionConfiguration/eventBufferSize``. The sequence ends
    /// with its session.
    public var requestEvents: RequestEvents { RequestEvents(hub.events()) }

    /// Events that were lost because an observer was too slow.
    public var droppedEventCount: Int { hub.droppedCount }
}

/// The events of a session: see ``Session/requestEvents``.
public struct RequestEvents: AsyncSequence, Sendable {
    /// One event.
    public typealias Element = RequestEvent

    private let stream: AsyncStream<RequestEvent>

    init(_ stream: AsyncStream<RequestEvent>) { self.stream = stream }

    /// Reads the events. One reader at a time; ask for ``Session/requestEvents`` again for another.
    public func makeAsyncIterator() -> Iterator { Iterator(base: stream.makeAsyncIterator()) }

    /// The reader of events.
    public struct Iterator: AsyncIteratorProtocol {
        var base: AsyncStream<RequestEvent>.Iterator

        /// The next event, `nil` when the session has gone or the task was cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> RequestEvent? {
            await base.next(isolation: actor)
        }
    }
}
