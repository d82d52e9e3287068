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
    public func makeAsyncIterator() -> Iterator {
        Iterator(reader: BodyReader(ServerSentEventParser(limit: limit), body))
    }

    /// The reader of the events.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var reader: BodyReader<ServerSentEventParser>

        /// The next event, `nil` at the end. One that is not complete at the end is dropped.
        ///
        /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/bodyTooLarge`` for an event above the limit, and as
        ///   ``ResponseBody/Iterator/next()``.
        public mutating func next() async throws -> ServerSentEvent? { try await reader.next() }
    }
}
