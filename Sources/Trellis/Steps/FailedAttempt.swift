public import FoundationEssentials

/// An attempt that brought an error, an answer that its reader refuses, or one with a status of 400 or more.
///
/// Answers in memory are validated before retriers are asked, by the conditions of the reader that has asked first: those of
/// ``DataRequest/validate()`` and its like, and those that a reading has by itself (<doc:Validation>). Streams are validated when
/// their head was handed over, and answers that calls share (``SingleFlight``) by each call for itself.
public struct FailedAttempt: Sendable {
    /// The request as it was sent, adapted and with the session's defaults; after a redirect the last one.
    public let request: Request
    /// The answer, whatever its status; `nil` where none came.
    public let response: Response?
    /// The body of the answer, at most 64 KiB of it where its head is refused; `nil` where none came, and for streams.
    public let body: Data?
    /// The error: of the exchange, or what refuses the answer. `nil` for an answer that is accepted for all that is known.
    public let error: (any Error)?

    /// A failed attempt, for tests of retriers.
    public init(request: Request, response: Response? = nil, body: Data? = nil, error: (any Error)? = nil) {
        self.request = request
        self.response = response
        self.body = body
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
