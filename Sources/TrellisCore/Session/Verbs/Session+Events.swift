extension Session {
    /// The events of the requests that are made from now on, for as long as they are read. Any number of observers can read them; each gets
    /// all events. A handle that was made while the session had no observer gives none, even if it starts later.
    ///
    /// ```swift
    /// let events = session.requestEvents
    /// Task { for await event in events { print(event.callID, event.kind) } }
    /// ```
    ///
    /// A reader that is slower than the session loses the oldest events beyond ``SessionConfiguration/eventBufferSize``, and learns
    /// their number (``RequestEvent/Kind/eventsDropped(_:)``). The sequence ends with its session, after its last event:
    /// at the end of ``shutdown(drainingFor:)``, or with the last reference to the session.
    public var requestEvents: RequestEvents { RequestEvents(hub.subscribe()) }

    /// The number of events that were dropped because an observer was too slow: the sum for all monitors of the session and of its
    /// requests, and for all readers of ``requestEvents``.
    public var droppedEventCount: Int { hub.droppedCount }

    /// The number of events that were dropped for each monitor of ``SessionConfiguration/eventMonitors``, in their order, because the
    /// monitor was too slow. Can be read after the shutdown too.
    public var droppedEventCounts: [Int] { hub.droppedCounts }
}

/// The events of a session: see ``Session/requestEvents``.
public struct RequestEvents: AsyncSequence, Sendable {
    /// The event of a request.
    public typealias Element = RequestEvent

    private let subscription: EventSubscription

    init(_ subscription: EventSubscription) { self.subscription = subscription }

    /// The number of events that this sequence has lost because its reader was too slow.
    public var droppedEventCount: Int { subscription.droppedCount }

    /// Returns an iterator over the events. A sequence has one reader at a time; use ``Session/requestEvents`` again for another.
    public func makeAsyncIterator() -> Iterator { Iterator(subscription: subscription) }

    /// The iterator over the events.
    public struct Iterator: AsyncIteratorProtocol {
        let subscription: EventSubscription

        /// Returns the next event; `nil` if the session has ended or the task was cancelled, after the events that had come before.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> RequestEvent? {
            await subscription.next()
        }
    }
}
