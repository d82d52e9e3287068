#if Observability
import HTTPTypes
import Trellis

/// The outcome of a request on the wire.
struct ExchangeOutcome {
    /// The status of the response; `nil` if no head was received.
    var status: Int?
    /// The version of HTTP; `nil` if no head was received.
    var version: HTTPVersion?
    var metrics: Metrics
    /// The wait for the limits of the host and for a connection; `nil` if it is not known, as after a cancellation.
    var queued: Duration?
    /// The class of the failure: the status from 400 on, or the kind of the error; `nil` after a success or a cancellation.
    var errorType: String?
    /// The failure in words; `nil` if there is no error.
    var errorMessage: String?
    var isCancelled = false
    /// The head of the response, for the size of its body.
    private var head: ResponseHead?
    /// The size of a collected body; `nil` if the body was not collected.
    private var collectedSize: Int?

    /// - Parameter bodySize: The size of the body as the caller gets it; `nil` if the body is not in memory.
    init(_ response: Response, bodySize: Int?) {
        let code = response.status.code
        (status, version, metrics) = (code, response.version, response.metrics)
        queued = metrics.queued
        errorType = code >= 400 ? String(code) : nil
        (head, collectedSize) = (response.head, bodySize)
    }

    /// The caller's own cancellation is not an error; neither is the session's shutdown.
    init(_ error: any Error) {
        let failure = error as? TrellisError
        metrics = failure?.metrics ?? Metrics()
        // The metrics of an error that is not the framework's are empty, and say nothing about the wait.
        queued = failure?.metrics.queued
        version = metrics.version
        status = failure?.response?.status.code
        isCancelled = error is CancellationError || failure?.isCancellation == true
        guard !isCancelled else { return }
        errorType = Self.errorType(of: error)
        errorMessage = "\(error)"
    }

    /// Returns the class of an error: the kind of the framework's errors, the type of others.
    static func errorType(of error: any Error) -> String {
        if let error = error as? TrellisError { return error.kind.rawValue }
        // The complete name of a private type contains an address.
        return String(describing: type(of: error))
    }

    /// Returns the size of the response's body on the wire: its announced length, or else the size of a collected body without a content
    /// coding; `nil` if it is not known. Only the fields that are needed are parsed.
    func bodySize(of method: HTTPRequest.Method) -> Int? {
        guard let head else { return nil }
        // These responses announce the length of a body that they do not have (RFC 9110, sections 9.3.2 and 15.4.5).
        if method == .head || head.status.code == 304 { return 0 }
        if let length = head.octets(of: .contentLength).first {
            if let count = Int(String(decoding: length, as: UTF8.self)), count >= 0 { return count }
        }
        return collectedSize.flatMap { head.octets(of: .contentEncoding).isEmpty ? $0 : nil }
    }
}
#endif
