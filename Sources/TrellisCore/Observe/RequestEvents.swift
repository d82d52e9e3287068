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
