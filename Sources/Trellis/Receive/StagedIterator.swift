/// An iterator that hands out what has come without suspending, and suspends only where more must come.
///
/// Every sequence over a body has one, so that all of them read alike. The loop is inlined where it is written, and there
/// becomes calls of ``take()``.
@usableFromInline
protocol StagedIterator: AsyncIteratorProtocol {
    /// The next element of what has come; `nil` where more is needed.
    mutating func take() throws -> Element?

    /// Waits until more has come; `false` at the end.
    mutating func feed() async throws -> Bool
}

extension StagedIterator {
    /// The next element, `nil` at the end.
    ///
    /// - Throws: As ``ResponseBody/Iterator/next()``; ``TrellisError`` of kind ``TrellisError/Kind/bodyTooLarge`` for an element
    ///   above its limit; what the sequence says of its elements. After an error there are no more elements.
    public mutating func next() async throws -> Element? { try await advance() }

    /// As ``next()``.
    ///
    /// It runs where it is called, whatever the argument: an `isolated` parameter would be switched to at every element, which
    /// takes as long as many an element does.
    @inlinable
    public nonisolated(nonsending) mutating func next(isolation actor: (any Actor)?) async throws -> Element? {
        try await advance()
    }

    // Not under the name of a requirement: that would be called instead, and leave the caller's actor.
    @inlinable
    nonisolated(nonsending) mutating func advance() async throws -> Element? {
        repeat {
            if let element = try take() { return element }
        } while try await feed()
        return nil
    }
}
