/// An adapter and a retrier in one: what it adds before an attempt, it can renew after a failed one.
public protocol RequestInterceptor: RequestAdapter, RequestRetrier {}

extension RequestInterceptor {
    /// The request as it is.
    public func adapt(_ request: Request, context: CallContext) async throws -> Request { request }

    /// No opinion.
    public func retry(_ attempt: FailedAttempt, context: CallContext) async -> RetryResult { .doNotRetry }
}

/// Several adapters and retriers as one: first the adapters, then those of the interceptors; the same with the retriers.
///
/// A ``RequestInterceptor`` among the adapters or retriers alone, such as a ``RetryPolicy`` among the retriers, is installed whole, as in
/// ``Steps``: its other half comes last in the other list.
public struct Interceptor: RequestInterceptor {
    /// Asked first, in this order; the first failure ends it.
    public let adapters: [any RequestAdapter]
    /// Asked first, in this order, until one has an opinion.
    public let retriers: [any RequestRetrier]

    /// An interceptor of parts.
    public init(
        adapters: [any RequestAdapter] = [], retriers: [any RequestRetrier] = [],
        interceptors: [any RequestInterceptor] = []
    ) {
        let installed = interceptors.map { InstalledInterceptor($0) }
        (self.adapters, self.retriers) = InstalledInterceptor.whole(adapters + installed, retriers + installed)
    }

    /// What the adapters make of it, one after the other.
    public func adapt(_ request: Request, context: CallContext) async throws -> Request {
        var request = request
        for adapter in adapters { request = try await adapter.adapt(request, context: context) }
        return request
    }

    /// The first opinion.
    public func retry(_ attempt: FailedAttempt, context: CallContext) async -> RetryResult {
        for retrier in retriers {
            let result = await retrier.retry(attempt, context: context)
            if case .doNotRetry = result { continue }
            return result
        }
        return .doNotRetry
    }
}
