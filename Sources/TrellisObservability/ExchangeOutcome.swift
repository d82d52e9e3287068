#if Observability
import HTTPTypes
import TrellisCore

/// The outcome of a request on the wire.
struct ExchangeOutcome {
    /// The status of the response; `nil` if no head was received.
    var status: Int?
    /// The version of HTTP; `nil` if no head was received.
    var version: HTTPVersion?
    var metrics: Metrics
    /// The wait for the limits of the host and for a connection, in nanoseconds; `nil` if it is not known, as after a cancellation.
    var queued: Int64?
    /// The class of the failure: the status from 400 on, or the kind of the error; `nil` after a success or a cancellation.
    var errorType: String?
    /// The failure in words, without the bodies of responses; `nil` if there is no error.
    var errorMessage: String?
    var isCancelled = false

    init(_ response: Response) {
        let code = response.status.code
        (status, version, metrics) = (code, response.version, response.metrics)
        queued = metrics.queuedTime
        errorType = code >= 400 ? String(code) : nil
    }

    /// The caller's own cancellation is not an error; neither is the session's shutdown.
    init(_ error: any Error) {
        let failure = error as? TrellisError
        metrics = failure?.metrics ?? Metrics()
        // The metrics of an error that is not the framework's are empty, and say nothing about the wait.
        queued = failure?.metrics.queuedTime
        version = metrics.version
        status = failure?.response?.status.code
        isCancelled = error is CancellationError || failure?.isCancellation == true
        guard !isCancelled else { return }
        errorType = Self.errorType(of: error)
        errorMessage = "\(RequestEvent.withoutBody(error))"
    }

    /// Returns the class of an error: the kind of the framework's errors, the type of others.
    static func errorType(of error: any Error) -> String {
        if let error = error as? TrellisError { return error.kind.rawValue }
        // The complete name of a private type contains an address.
        return String(describing: type(of: error))
    }
}
#endif
