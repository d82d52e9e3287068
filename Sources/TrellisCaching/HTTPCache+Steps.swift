public import TrellisCore

extension HTTPCache: ResponseCaching {
    /// Returns a stored response, or the response of the server, which may be stored.
    ///
    /// A cache works in ``SessionConfiguration/cache`` and within the cache there. Anywhere else, this is `next(request)`.
    ///
    /// - Throws: The errors of `next`.
    public func response(to request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
        guard let respond = next.responseOfCache else { return try await next(request) }
        return try await respond(request, self)
    }

    /// Opens the folder of a ``DiskCacheStorage``; any other storage needs no preparation.
    ///
    /// - Throws: ``FileFailure`` if the folder cannot be used.
    public func open() async throws { try await (storage as? DiskCacheStorage)?.open() }

    /// Saves the index of a ``DiskCacheStorage``.
    public func close() async { await (storage as? DiskCacheStorage)?.close() }
}

extension HTTPCache: StagedCache {
    package func mayWait(in steps: Steps) -> Bool {
        guard memory != nil else { return true }
        guard let handler = steps.cachedResponseHandler else { return false }
        return (handler as? ResponseCacher)?.storesAll == nil
    }

    package func reply(
        to request: Request, asked: Request, in exchange: any AnyObject & Sendable
    ) throws -> CacheReply {
        // Nothing else asks the cache.
        guard let pipeline = exchange as? Pipeline else { throw CancellationError() }
        let transaction = try CacheTransaction(request, asked: asked, in: self, of: pipeline)
        if let memory, let answer = try transaction.answer(from: memory) { return .answer(answer) }
        try pipeline.enter()
        return .pending { try await transaction.answer() }
    }
}

extension Steps {
    /// The handler that is asked about each response that the cache could store; if `nil`, the session's, and for a session
    /// ``CachedResponseHandler/cache``.
    public var cachedResponseHandler: (any CachedResponseHandler)? {
        get { storingHandler as? any CachedResponseHandler }
        set { storingHandler = newValue }
    }
}
