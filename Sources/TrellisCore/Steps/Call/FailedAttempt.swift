public import FoundationEssentials

/// An attempt that ended with an error, with a response that its reader refuses, or with a status of 400 or more.
///
/// Responses in memory are validated before retriers are asked, by the conditions of the first reader: the conditions of
/// ``DataRequest/validate()`` and its like, and the default conditions of a reading (<doc:Responses>). Streams are validated
/// after their head was delivered, and responses that calls share (``RequestCoalescing``) by each call for itself.
public struct FailedAttempt: Sendable {
    /// The last request of the attempt, adapted and with the session's defaults, before the transport adds its own fields. If the
    /// attempt ended before it made a request, this is the last request of the call, and before the first one the caller's.
    public let request: Request
    /// The response, with any status; `nil` if no response was received.
    public let response: Response?
    /// The body of the response, at most 64 KiB of it if its head is refused, and at most
    /// ``SessionConfiguration/maximumBodySize`` of any; `nil` if no body was received, or the response is
    /// a stream.
    public let body: Data?
    /// The error of the exchange, or the error that refuses the response; `nil` if no known condition refuses the
    /// response.
    public let error: (any Error)?
    /// Whether another attempt can send its body: the body of ``request``, and the one with which the next attempt begins.
    var hasReplayableBody: Bool
    /// Ends the transfer of the response, if its body is still to be received; `nil` if there is no such response.
    var discard: (@Sendable () async -> Void)?

    /// Creates a failed attempt, for tests of retriers.
    public init(request: Request, response: Response? = nil, body: Data? = nil, error: (any Error)? = nil) {
        self.request = request
        self.response = response
        self.body = body
        self.error = error
        hasReplayableBody = request.hasReplayableBody
    }

    /// The error for the caller if a retrier asks for another attempt and the body cannot be sent again.
    var isNotReplayable: TrellisError {
        let metrics = response?.metrics ?? (error as? TrellisError)?.metrics ?? Metrics()
        var failure = TrellisError(
            .bodyFailed(.notReplayable), method: request.method, url: request.url, phase: .received, metrics: metrics,
            underlying: error)
        failure.response = response
        if let response { failure.detail = "the status of the response was \(response.status.code)" }
        return failure
    }
}
