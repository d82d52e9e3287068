extension Session {
    /// The events of the session from now on, for as long as they are read. Any number of observers can read them; each gets all
    /// events.
    ///
    /// ```swift
    /// let events = session.requestEvents
    /// Task { for await event in events { print(event.callID, event.kind) } }
    /// ```
    ///
    /// A reader that is slower than the session loses the oldest events beyond ``SessionConfiguration/eventBufferSize``. The
    /// sequence ends with its session.
    public var requestEvents: RequestEvents { RequestEvents(hub.events()) }

    /// The number of events that were dropped because an observer was too slow.
    public var droppedEventCount: Int { hub.droppedCount }
}

/// The events of a session: see ``Session/requestEvents``.
public struct RequestEvents: AsyncSequence, Sendable {
    /// The event of a request.
    public typealias Element = RequestEvent

    private let stream: AsyncStream<RequestEvent>

    init(_ stream: AsyncStream<RequestEvent>) { self.stream = stream }

    /// Returns an iterator over the events. A sequence has one reader at a time; use ``Session/requestEvents`` again for another.
    public func makeAsyncIterator() -> Iterator { Iterator(base: stream.makeAsyncIterator()) }

    /// The iterator over the events.
    public struct Iterator: AsyncIteratorProtocol {
        var base: AsyncStream<RequestEvent>.Iterator

        /// Returns the next event; `nil` if the session has ended or the task was cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> RequestEvent? {
            await base.next(isolation: actor)
        }
    }
}
