/// An iterator that returns received elements without suspending, and suspends only when more bytes have to be received.
///
/// Every sequence over a body has such an iterator, so that all of them are read alike. A loop over the sequence is inlined at its
/// place in the caller, and becomes calls of ``take()`` there.
@usableFromInline
protocol BufferedIterator: AsyncIteratorProtocol {
    /// Returns the next element from the bytes received so far; `nil` if more bytes are needed.
    mutating func take() throws -> Element?

    /// Waits until more bytes have been received; returns `false` at the end.
    mutating func feed() async throws -> Bool
}

extension BufferedIterator {
    /// Returns the next element; `nil` at the end.
    ///
    /// - Throws: The errors of ``ResponseBody/Iterator/next()``; ``TrellisError`` of kind ``TrellisError/Kind/bodyTooLarge`` for an
    ///   element above its limit; the errors that the sequence names for its elements. After an error there are no more elements.
    public mutating func next() async throws -> Element? { try await advance() }

    /// Returns the next element, as ``next()`` does.
    ///
    /// Runs on the actor of the caller, regardless of the argument: an `isolated` parameter would cause a switch to its actor at every
    /// element, which can take as long as the element itself.
    @inlinable
    public nonisolated(nonsending) mutating func next(isolation actor: (any Actor)?) async throws -> Element? {
        try await advance()
    }

    // Named differently from the protocol's requirements: a requirement would be called instead, and leave the caller's actor.
    @inlinable
    nonisolated(nonsending) mutating func advance() async throws -> Element? {
        repeat {
            if let element = try take() { return element }
        } while try await feed()
        return nil
    }
}
