/// The informational heads (1xx) of a request's responses, as they arrive: 100, 102, 103 (RFC 9110, section 15.2; RFC 8297).
///
/// ```swift
/// let hints = InformationalHeads()
/// request.informationalHeads = hints
/// async let preloading: Void = { for await head in hints { preload(head.headers) } }()
/// let response = try await session.stream(request)
/// hints.finish()
/// ```
///
/// The sequence has the heads of all attempts and hops of the request, in their order. It ends with ``finish()`` alone, because the request
/// may be sent again; a task that is cancelled stops reading. Heads are kept until they are read;
/// ``SessionConfiguration/maximumHeaderSize`` limits their size.
public struct InformationalHeads: AsyncSequence, Sendable {
    /// A head with a status of 1xx.
    public typealias Element = ResponseHead

    private let stream: AsyncStream<ResponseHead>
    private let continuation: AsyncStream<ResponseHead>.Continuation

    /// Creates a sequence for one request.
    public init() { (stream, continuation) = AsyncStream.makeStream() }

    /// Adds a head.
    package func receive(_ head: ResponseHead) { continuation.yield(head) }

    /// Ends the sequence after the heads that have arrived.
    public func finish() { continuation.finish() }

    /// Returns an iterator over the heads. A sequence has one reader.
    public func makeAsyncIterator() -> Iterator { Iterator(base: stream.makeAsyncIterator()) }

    /// The iterator over the heads.
    public struct Iterator: AsyncIteratorProtocol {
        var base: AsyncStream<ResponseHead>.Iterator

        /// Returns the next head; `nil` if the sequence has ended or the task was cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> ResponseHead? {
            await base.next(isolation: actor)
        }
    }
}

extension Request {
    /// The sequence that gets the informational heads of the request's responses as they arrive; `nil`, the default, if they are only
    /// part of the response (``Response/informational``).
    public var informationalHeads: InformationalHeads? {
        get { informationalReceiver as? InformationalHeads }
        set { informationalReceiver = newValue }
    }
}
