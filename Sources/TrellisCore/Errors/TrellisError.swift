public import FoundationEssentials
public import HTTPTypes

/// The error of a failed request: the reason, and the phase and time of the failure.
///
/// The description is a sentence that a person can act on, and properties such as ``isTimeout`` and ``mayHaveSentBytes`` classify the
/// error without parsing any text. The cancellation of a task is not a `TrellisError`, but Swift's `CancellationError`. <doc:Errors> has a
/// table of the kinds.
public struct TrellisError: Error, Sendable {
    /// The reason for the failure.
    public let reason: Reason
    /// The method of the request.
    public package(set) var method: HTTPRequest.Method?
    /// The URL of the request without its secrets: user information, and the values of query items and of path parameters whose names mark
    /// them as secrets or signatures.
    public package(set) var url: String?
    /// The phase that the request was in.
    public package(set) var phase: Phase
    /// The metrics of the request up to the failure.
    public package(set) var metrics: Metrics
    /// The circumstances of the failure in words; `nil` if none are known.
    public package(set) var detail: String?
    /// Whether the request waited for something other than a connection, such as a rate limit.
    var isHeldByLimit = false
    /// Whether the limit on connecting was reached because the trust in the server was not known in time: its evaluator had not
    /// decided, or a file of certificates had not been read. Another proxy would not help.
    var isTrustTimeout = false
    /// Whether no connection was tried, because the limit on connecting is zero. Nothing is known about the host then.
    var isUntried = false
    /// Whether the server has reported that it did not process the request.
    var isUnprocessed = false
    /// Whether the session was shut down before the request was made.
    var isRefused = false
    /// The error that caused this one, for example an error that a body's source threw.
    public internal(set) var underlying: (any Error)?
    /// The response that was not accepted or could not be read; `nil` if the failure is another one.
    public package(set) var response: Response?
    /// The beginning of the body of ``response``, as it was received. The description shows it without the secrets of JSON and of forms,
    /// also multipart ones: texts under names such as `token` and `password`.
    public package(set) var bodyExcerpt: BodyExcerpt?
    /// The number of interruptions after which a download had continued by itself; 0 for other requests.
    public package(set) var interruptions = 0
    /// The part of a WebSocket's life that has failed; `nil` for other requests.
    var webSocketPart: WebSocketPart?
    /// The requests that the call had sent before the one that failed.
    var earlierTraffic = EarlierTraffic.none
    /// Whether a step has thrown the error of another call, so that the method and the phase are not this call's.
    var isOfOtherCall = false
    /// The redirects that were followed up to the failure, for an error without a response that has them.
    package var followed: [Redirect] = []

    /// Creates an error.
    package init(
        _ reason: Reason, method: HTTPRequest.Method? = nil, url: String? = nil, phase: Phase = .composing,
        metrics: Metrics = Metrics(), underlying: (any Error)? = nil
    ) {
        self.reason = reason
        self.method = method
        self.url = url.map(URLRedaction.redact)
        self.phase = phase
        self.metrics = metrics
        self.underlying = underlying
    }

    /// Creates an error, for mocks and for tests of code that reads errors.
    ///
    /// ```swift
    /// throw TrellisError(.timedOut(.responseHead), of: request)
    /// throw TrellisError(.validationFailed(.status(503)), of: request, response: response)
    /// ```
    ///
    /// - Parameters:
    ///   - reason: The reason, from which ``kind`` follows.
    ///   - request: The request that has failed.
    ///   - response: The response that was not accepted or could not be read; none unless given.
    ///   - body: The response's body, whose beginning becomes ``bodyExcerpt``; none unless given.
    ///   - phase: The phase that the request was in. Unless given, the phase in which such a failure usually occurs, which decides about
    ///     ``mayHaveSentBytes`` and ``isRetryable``.
    ///   - underlying: The error that caused this one; none unless given.
    public init(
        _ reason: Reason, of request: Request, response: Response? = nil, body: Data? = nil, phase: Phase? = nil,
        underlying: (any Error)? = nil
    ) {
        self.init(
            reason, method: request.method, url: response?.url ?? request.url, metrics: response?.metrics ?? Metrics(),
            underlying: underlying)
        self.response = response
        bodyExcerpt = body.map { BodyExcerpt($0) }
        self.phase = phase ?? usualPhase
    }

    private var usualPhase: Phase {
        if isConnectionFailure { return .connecting }
        return switch reason {
        // What is left of `securityFailed` is about files, and these are read before anything is sent.
        case .invalidRequest, .unsupported, .securityFailed, .bodyFailed(.file): .composing
        case .limited: .queued
        case .egressRefused: .connecting
        case .invalidResponse(.malformed), .invalidResponse(.headTooLarge): .sending
        case .invalidResponse: .receiving
        case .validationFailed, .serializationFailed: .received
        default: response == nil ? .sending : .received
        }
    }

    /// The status of ``response``, if any, such as 404.
    public var statusCode: Int? { response?.status.code }

    /// The redirects that were followed up to the failure, in their order.
    public var redirects: [Redirect] { followed.isEmpty ? response?.redirects ?? [] : followed }

    /// The number of the call in its process: ``RequestEvent/callID`` of the events that belong to it; `nil` if the request
    /// failed before it became a call.
    public var callID: UInt64? { metrics.callID == 0 ? nil : metrics.callID }

    /// The number of times that the request had been started.
    public var attemptCount: Int { metrics.attemptCount }

    /// The time from the call to the failure.
    public var elapsed: Duration { metrics.total }
}

extension TrellisError {
    /// A phase in the life of a request.
    public enum Phase: String, Sendable, Hashable, CaseIterable {
        /// The request was being put together; nothing was sent.
        case composing
        /// The request waited for a connection slot of its session, or for a limit.
        case queued
        /// The host name was being resolved, or TCP or TLS were under way.
        case connecting
        /// The request was being sent, or the response was awaited.
        case sending
        /// The head of the response had been received, the body had not ended.
        case receiving
        /// The complete response had been received, and was being validated or read.
        case received
    }
}

/// The requests that a call has sent in attempts and hops that are over, by the effect of sending them again.
enum EarlierTraffic: UInt8, Sendable, Comparable {
    case none
    /// Requests with idempotent methods (RFC 9110, section 9.2.2).
    case idempotent
    /// Requests, at least one of them with another method.
    case other

    static func < (left: EarlierTraffic, right: EarlierTraffic) -> Bool { left.rawValue < right.rawValue }
}

extension TrellisError: CustomStringConvertible {
    /// The failure as a sentence for people.
    public var description: String {
        var text = isRefused ? "the session is shut down and accepts no new requests" : reason.description
        if isCancellation {
            if phase == .queued { text += " after \(subject) had waited \(elapsed.rounded) for \(waitedFor)" }
        } else if isTimeout || phase == .queued && !isLimit {
            text += " after \(elapsed.rounded) \(activity)"
        }
        if let detail = detail ?? reason.usualDetail { text += ": \(detail)" }
        if let underlying, !reason.tellsCause { text += " (\(underlying))" }
        if let line = bodyExcerpt?.line(ofType: response?.headers[.contentType] ?? "") {
            text += "; the body: \(line)"
        }
        if let proxy = metrics.proxyURL, mayBeOfProxy { text += "; through the proxy \(proxy)" }
        let request = webSocketWords ?? [method?.rawValue, url].compactMap { $0 }.joined(separator: " ")
        return request.isEmpty ? text : "\(request): \(text)"
    }
}

extension TrellisError {
    /// Whether a proxy may be the cause of the failure, without being named as the cause.
    private var mayBeOfProxy: Bool {
        guard phase == .connecting || hasReachedServer else { return false }
        return switch reason {
        case .timedOut, .connectionFailed, .securityFailed, .exchangeFailed, .invalidResponse,
            .validationFailed(.status):
            true
        default: false
        }
    }

    private var isLimit: Bool { if case .limited = reason { true } else { false } }

    /// The error of a request that is made after the shutdown of its session.
    static var sessionIsShutDown: TrellisError {
        var error = TrellisError(.cancelled(.sessionShutDown))
        error.isRefused = true
        return error
    }

    /// The error of a task that reads a body while another task does.
    package static var secondReader: TrellisError {
        TrellisError(.other("the body of a response has one reader at a time"), phase: .receiving)
    }

    /// The request, in a sentence that may have named it already.
    private var subject: String { reason == .cancelled(.explicitly) ? "it" : "the request" }

    private var waitedFor: String { isHeldByLimit ? "its turn" : "a connection" }

    private var activity: String {
        if isHeldByLimit { return "waiting for its turn" }
        return phase == .composing && earlierTraffic != .none ? "between two attempts" : phase.activity
    }
}

extension TrellisError: LocalizedError {
    /// The same sentence as ``description``, for Foundation.
    public var errorDescription: String? { description }
}

extension TrellisError.Phase {
    /// The activity of the request in this phase, in words that follow a time span.
    fileprivate var activity: String {
        switch self {
        case .composing: "before it was sent"
        case .queued: "waiting for a connection"
        case .connecting: "connecting"
        case .sending: "waiting for the response"
        case .receiving: "receiving the body"
        case .received: "reading the response"
        }
    }
}

extension Duration {
    /// The duration in seconds with one decimal, or in whole milliseconds below one second.
    var rounded: String {
        let (seconds, attoseconds) = components
        if seconds >= 1 { return "\(seconds).\(attoseconds / 100_000_000_000_000_000) s" }
        // The milliseconds of the longest durations exceed the range of integers.
        return "\(max(seconds, -1_000_000_000) * 1000 + attoseconds / 1_000_000_000_000_000) ms"
    }
}
