/// A cache of responses in ``SessionConfiguration/cache``; ``HTTPCache`` is the framework's.
///
/// A cache may wrap another one. It then passes ``open()`` and ``close()`` on, whose defaults do nothing: without `close()`, the
/// next process reads the complete folder of a ``DiskCacheStorage``.
///
/// ```swift
/// struct CacheForReports: ResponseCaching {
///     let cache = HTTPCache()
///
///     func response(to request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
///         guard request.path.hasPrefix("/reports") else { return try await next(request) }
///         return try await cache.response(to: request, context: context, next: next)
///     }
///
///     func open() async throws { try await cache.open() }
///
///     func close() async { await cache.close() }
/// }
/// ```
public protocol ResponseCaching: Sendable {
    /// Returns a stored response, or the response of `next`, which sends the request. Runs once for each request on the wire: inside of the
    /// cookies, outside of the limits.
    ///
    /// - Throws: The errors of `next`; an error of the cache reaches the caller unchanged, unless a retrier asks for another attempt.
    func response(to request: Request, context: CallContext, next: NextStep) async throws -> StepResponse

    /// Prepares the storage, so that a storage that cannot be used is an error now and not a warning later. The default does nothing.
    ///
    /// - Throws: Any error, which its caller gets.
    func open() async throws

    /// Writes what the storage has in memory alone. `SessionService` calls this after the session has ended. The default does nothing: a
    /// cache that wraps another one calls its `close()`.
    func close() async
}

extension ResponseCaching {
    /// Does nothing.
    ///
    /// - Throws: Nothing.
    public func open() async throws {}

    /// Does nothing.
    public func close() async {}
}

/// A cache that is part of the pipeline, which passes on no closure to ask it.
package protocol StagedCache: AnyObject, ResponseCaching {
    /// Returns whether a request with these steps may wait for the cache before it is sent.
    func mayWait(in steps: Steps) -> Bool

    /// Returns a stored response if that needs no wait; otherwise the rest of the search, with the server's response at its end.
    ///
    /// - Parameters:
    ///   - request: The request with the cookies of the session.
    ///   - asked: The request without them.
    ///   - exchange: The pipeline, whose type belongs to `Session`.
    func reply(to request: Request, asked: Request, in exchange: any AnyObject & Sendable) throws -> CacheReply
}

/// The response that a cache has at once, or the wait for it.
package enum CacheReply: Sendable {
    case answer(StepResponse)
    case pending(@Sendable () async throws -> StepResponse)

    var answer: StepResponse {
        get async throws {
            switch self {
            case .answer(let answer): answer
            case .pending(let answer): try await answer()
            }
        }
    }
}
