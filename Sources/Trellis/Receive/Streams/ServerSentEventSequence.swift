/// A body as a stream of events, as WHATWG HTML, section 9.2, has them.
///
/// It ends with the body. For a stream that is opened again whenever it ends, see ``Session/events(from:reconnecting:)``.
public struct ServerSentEventSequence: AsyncSequence, Sendable {
    /// An event.
    public typealias Element = ServerSentEvent

    /// The limit on the size of an event in bytes unless another one is given: 1 MiB.
    public static let maximumEventSize = 1 << 20

    private let body: ResponseBody
    private let limit: Int

    init(_ body: ResponseBody, limit: Int) {
        self.body = body
        self.limit = limit
    }

    /// Reads the body.
    public func makeAsyncIterator() -> Iterator { Iterator(BodyReader(ServerSentEventParser(limit: limit), body)) }

    /// The reader of the events.
    public struct Iterator: AsyncIteratorProtocol {
        /// Events that have come; those before `position` have been handed out.
        @usableFromInline var events: [ServerSentEvent] = []
        @usableFromInline var position = 0
        private var reader: BodyReader<ServerSentEventParser>

        fileprivate init(_ reader: BodyReader<ServerSentEventParser>) { self.reader = reader }

        /// The next event, `nil` at the end. One that is not complete at the end is dropped.
        ///
        /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/bodyTooLarge`` for an event above the limit, and as
        ///   ``ResponseBody/Iterator/next()``.
        public mutating func next() async throws -> ServerSentEvent? { try await next(isolation: #isolation) }

        /// As ``next()``, without leaving the caller's isolation.
        @inlinable
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> ServerSentEvent? {
            if position == events.count {
                guard try await refill(isolation: actor) else { return nil }
            }
            // Moved, not copied.
            var event = ServerSentEvent(data: "")
            swap(&event, &events[position])
            position += 1
            return event
        }

        @usableFromInline
        mutating func refill(isolation actor: isolated (any Actor)?) async throws -> Bool {
            position = 0
            try await reader.next(reusing: &events)
            return !events.isEmpty
        }
    }
}
