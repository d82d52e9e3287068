/// An adapter and a retrier in one: for example, it adds a credential before an attempt and renews the credential after a failed
/// one.
public protocol RequestInterceptor: RequestAdapter, RequestRetrier {}

extension RequestInterceptor {
    /// Returns the request unchanged.
    ///
    /// - Throws: Nothing.
    public func adapt(_ request: Request, context: CallContext) async throws -> Request { request }

    /// Returns ``RetryResult/doNotRetry``.
    public func retry(_ attempt: FailedAttempt, context: CallContext) async -> RetryResult { .doNotRetry }
}

/// Several adapters and retriers as one: first the adapters, then the adapters of the interceptors; the same order with the
/// retriers.
///
/// A ``RequestInterceptor`` in one of the lists alone, such as a ``RetryPolicy`` among the retriers, is installed in both, as in
/// ``Steps``: its other half is the last in the other list.
public struct Interceptor: RequestInterceptor {
    /// The adapters, which run in this order; the first error ends the attempt.
    public let adapters: [any RequestAdapter]
    /// The retriers, which are asked in this order until one returns a result other than ``RetryResult/doNotRetry``.
    public let retriers: [any RequestRetrier]

    /// Creates an interceptor from its parts.
    public init(
        adapters: [any RequestAdapter] = [], retriers: [any RequestRetrier] = [],
        interceptors: [any RequestInterceptor] = []
    ) {
        let installed = interceptors.map { AttachedInterceptor($0) }
        (self.adapters, self.retriers) = AttachedInterceptor.whole(adapters + installed, retriers + installed)
    }

    /// Returns the request after all adapters have changed it, one after the other.
    ///
    /// - Throws: The first error of an adapter.
    public func adapt(_ request: Request, context: CallContext) async throws -> Request {
        var request = request
        for adapter in adapters { request = try await adapter.adapt(request, context: context) }
        return request
    }

    /// Returns the first result of a retrier other than ``RetryResult/doNotRetry``.
    public func retry(_ attempt: FailedAttempt, context: CallContext) async -> RetryResult {
        for retrier in retriers {
            let result = await retrier.retry(attempt, context: context)
            if case .doNotRetry = result { continue }
            return result
        }
        return .doNotRetry
    }
}

/// An adapter that adds a credential which the user can replace while requests are under way.
protocol CredentialHolder {
    /// A number that grows whenever the user sets another credential.
    var credentialEpoch: Int { get }
}

extension Interceptor: CredentialHolder {
    var credentialEpoch: Int { adapters.credentialEpoch }
}

extension AttachedInterceptor: CredentialHolder {
    var credentialEpoch: Int { (interceptor as? any CredentialHolder)?.credentialEpoch ?? 0 }
}

extension [any RequestAdapter] {
    /// The sum of the epochs of all credentials that the adapters hold.
    var credentialEpoch: Int { reduce(0) { $0 + (($1 as? any CredentialHolder)?.credentialEpoch ?? 0) } }
}
