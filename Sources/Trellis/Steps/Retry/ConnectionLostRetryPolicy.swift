/// Sends a request again when its connection was lost, and for no other reason.
///
/// That is a connection which broke while the request was sent or the answer came. What may be sent twice, how often and after
/// which wait is as in ``policy``.
public struct ConnectionLostRetryPolicy: RequestInterceptor {
    /// Limit, waits, methods and budget.
    public let policy: RetryPolicy

    /// A policy for lost connections.
    ///
    /// - Parameter policy: limit, waits, methods and budget.
    public init(_ policy: RetryPolicy = RetryPolicy()) { self.policy = policy }

    /// As ``RetryPolicy/adapt(_:context:)``.
    public func adapt(_ request: Request, context: CallContext) async throws -> Request {
        try await policy.adapt(request, context: context)
    }

    /// As ``RetryPolicy/retry(_:context:)``, for a lost connection.
    public func retry(_ attempt: FailedAttempt, context: CallContext) async -> RetryResult {
        guard Self.isConnectionLost(attempt.error) else { return .doNotRetry }
        return await policy.retry(attempt, context: context)
    }

    static func isConnectionLost(_ error: (any Error)?) -> Bool {
        switch (error as? TrellisError)?.reason {
        case .exchangeFailed, .invalidResponse(.bodyCutShort): true
        default: false
        }
    }
}
