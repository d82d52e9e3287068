/// An attempt that brought an error, or an answer with a status of 400 or more.
public struct FailedAttempt: Sendable {
    /// The request as it was sent, adapted and with the session's defaults; after a redirect the last one.
    public let request: Request
    /// The answer, `nil` where none came.
    public let response: Response?
    /// The error, `nil` where an answer came.
    public let error: (any Error)?

    /// A failed attempt, for tests of retriers.
    public init(request: Request, response: Response? = nil, error: (any Error)? = nil) {
        self.request = request
        self.response = response
        self.error = error
    }

    /// What the caller gets where the request would have to be sent again and cannot be.
    var isNotReplayable: TrellisError {
        let metrics = response?.metrics ?? (error as? TrellisError)?.metrics ?? Metrics()
        var failure = TrellisError(
            .bodyFailed(.notReplayable), method: request.method, url: request.url, phase: .answered, metrics: metrics,
            underlying: error)
        failure.response = response
        if let response { failure.detail = "the answer was \(response.status.code)" }
        return failure
    }
}
