/// A policy that sends a request again when its connection was lost, and for no other reason.
///
/// A connection is lost if it breaks while the request is sent or the response is received. The requests that may be sent again,
/// ``policy`` has the number of retries and the waits.
public struct ConnectionLostRetryPolicy: RequestInterceptor {
    /// The policy for the limit, waits, methods and budget.
    public let policy: RetryPolicy

    /// Creates a policy for lost connections.
    ///
    /// - Parameter policy: the policy for the limit, waits, methods and budget.
    public init(_ policy: RetryPolicy = RetryPolicy()) { self.policy = policy }

    /// Returns the request as ``RetryPolicy/adapt(_:context:)`` does.
    ///
    /// - Throws: Nothing.
    public func adapt(_ request: Request, context: CallContext) async throws -> Request {
        policy.adaptAtOnce(request, context: context)
    }

    /// Returns the result of ``RetryPolicy/retry(_:context:)`` for a lost connection, and ``RetryResult/doNotRetry`` otherwise.
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

extension ConnectionLostRetryPolicy: ImmediateAdapter {
    func adaptAtOnce(_ request: Request, context: CallContext) throws -> Request {
        policy.adaptAtOnce(request, context: context)
    }
}

extension RequestRetrier {
    /// Whether the retrier is a policy that is asked about failures before the first byte of a stream, or contains one.
    var waitsForFirstByte: Bool {
        switch self {
        case let policy as RetryPolicy: policy.waitsForFirstByte
        case let policy as ConnectionLostRetryPolicy: policy.policy.waitsForFirstByte
        case let all as Interceptor: all.retriers.contains(where: \.waitsForFirstByte)
        default: false
        }
    }
}
