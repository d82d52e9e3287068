public import FoundationEssentials
public import HTTPTypes

/// Why a request failed: what went wrong, and where and when it did.
///
/// It reads as a sentence a person can act on, and answers questions such as ``isTimeout`` and ``maySentBytes`` without a
/// look at any text. The cancellation of a task is not one of these: it is Swift's `CancellationError`.
public struct TrellisError: Error, Sendable {
    /// What went wrong.
    public let reason: Reason
    /// The method of the request.
    public internal(set) var method: HTTPRequest.Method?
    /// The URL of the request, its secrets left out: user information, and the values of query items whose names say that
    /// they are secrets or signatures.
    public internal(set) var url: String?
    /// Where in its life the request was.
    public internal(set) var phase: Phase
    /// What the request took up to the failure.
    public internal(set) var metrics: Metrics
    /// What is known about the circumstances, in words.
    public internal(set) var detail: String?
    /// It waited for something else than a connection.
    var isHeldByLimit = false
    /// The error that caused this one, for example what a body's source threw.
    public internal(set) var underlying: (any Error)?
    /// The response that was not accepted or could not be read; `nil` for other failures.
    public internal(set) var response: Response?
    /// How the body of that response begins.
    public internal(set) var bodyExcerpt: BodyExcerpt?
    /// How often a download had been interrupted and gone on by itself; 0 for other requests.
    public internal(set) var interruptions = 0
    /// The requests that the call had sent before the one that failed.
    var earlierTraffic = EarlierTraffic.none
    /// What was followed up to the failure, where no response tells.
    var followed: [Redirect] = []

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

    /// The redirects that were followed up to the failure, in their order.
    public var redirects: [Redirect] { followed.isEmpty ? response?.redirects ?? [] : followed }

    /// How often the request had been started.
    public var attempt: Int { metrics.attempts }

    /// The time from the call to the failure.
    public var elapsed: Duration { metrics.total }
}

extension TrellisError {
    /// Where in its life a request was.
    public enum Phase: String, Sendable, Hashable, CaseIterable {
        /// It was being put together; nothing was sent.
        case composing
        /// It waited for a connection slot of its session, or for a limit.
        case queued
        /// The name was being resolved, or TCP or TLS were under way.
        case connecting
        /// It was being sent, or the answer was awaited.
        case sending
        /// The head had come, the body had not ended.
        case receiving
        /// The answer had come whole; it was being validated or read.
        case answered
    }
}

/// The requests that a call has sent in attempts and hops that are over, by what sending them again would do.
enum EarlierTraffic: UInt8, Sendable, Comparable {
    case none
    /// Requests with idempotent methods (RFC 9110, section 9.2.2).
    case idempotent
    case other

    static func < (left: EarlierTraffic, right: EarlierTraffic) -> Bool { left.rawValue < right.rawValue }
}

extension TrellisError: CustomStringConvertible {
    /// A sentence for people.
    public var description: String {
        var text = reason.description
        if isTimeout || phase == .queued && !isLimit { text += " after \(elapsed.rounded) \(activity)" }
        if let detail { text += ": \(detail)" }
        if let underlying, !reason.tellsCause { text += " (\(underlying))" }
        if let line = bodyExcerpt?.line { text += "; the body: \(line)" }
        let request = [method?.rawValue, url].compactMap { $0 }.joined(separator: " ")
        return request.isEmpty ? text : "\(request): \(text)"
    }
}

extension TrellisError {
    private var isLimit: Bool { if case .limited = reason { true } else { false } }

    private var activity: String {
        if isHeldByLimit { return "waiting for its turn" }
        return phase == .composing && earlierTraffic != .none ? "between two attempts" : phase.activity
    }
}

extension TrellisError: LocalizedError {
    /// The same sentence, for Foundation.
    public var errorDescription: String? { description }
}

extension TrellisError.Phase {
    /// What the request was doing, to follow a time span.
    fileprivate var activity: String {
        switch self {
        case .composing: "before it was sent"
        case .queued: "waiting for a connection"
        case .connecting: "connecting"
        case .sending: "waiting for the answer"
        case .receiving: "receiving the body"
        case .answered: "reading the answer"
        }
    }
}

extension Duration {
    /// Seconds with one decimal, or whole milliseconds below one second.
    var rounded: String {
        let milliseconds = components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
        return milliseconds < 1000 ? "\(milliseconds) ms" : "\(milliseconds / 1000).\(milliseconds % 1000 / 100) s"
    }
}
