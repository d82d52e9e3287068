/// Decides whether a request on HTTP/2 that has failed goes to the wire again (RFC 9113, section 8.7).
struct HTTP2Repetition: Sendable {
    /// The reasons for which a stream ends without its response.
    enum Reason: Hashable, Sendable {
        /// The server has reset the stream.
        case reset(HTTP2ErrorCode)
        /// The server has closed the connection with a GOAWAY that excludes the stream.
        case excluded(HTTP2ErrorCode)
        /// The server has taken other requests, and has left without an error (GOAWAY). It has not taken this one.
        case passedOver
        /// The connection has ended. `isUsed` is `true` if it served another request before.
        case lost(isUsed: Bool)
    }

    /// What happens to the request.
    enum Decision: Hashable, Sendable {
        /// It fails.
        case fails
        /// It is sent again after a time.
        case again(after: Duration)
        /// It is sent again over HTTP/1.1.
        case againOverHTTP1
    }

    /// The number of times that a request is sent again, as on HTTP/1.1.
    static let maximum = 5
    /// The number of times that a request which was passed over is sent again. It goes first on the next connection, so that a server which
    /// takes some requests for each connection reaches it.
    static let maximumPasses = 100
    /// The time before the second repetition of a request that the server refuses. It doubles with each one.
    static let refusalWait = Duration.milliseconds(50)
    /// The time before the only repetition of a request to a server that asks for calm.
    static let calmWait = Duration.seconds(1)

    /// Whether the request may be sent again although the server may have processed it.
    let mayBeReplayed: Bool
    /// The number of repetitions.
    private(set) var count = 0
    /// The number of times that the request was passed over. They do not count as repetitions, because others got their responses.
    private var passes = 0
    /// Whether the server may have processed an earlier attempt.
    private(set) var mayBeProcessed = false

    init(mayBeReplayed: Bool) { self.mayBeReplayed = mayBeReplayed }

    /// Returns whether the server has certainly not processed a request.
    static func isUnprocessed(_ reason: Reason) -> Bool {
        switch reason {
        case .reset(let code): code == .refusedStream || code == .http11Required
        case .excluded, .passedOver: true
        case .lost: false
        }
    }

    /// Decides about a request, and counts the repetition.
    ///
    /// - Parameters:
    ///   - hasHead: Whether the final head of the response was received.
    ///   - hasLostBody: Whether a part of the body was sent that cannot be read again.
    mutating func decide(_ reason: Reason, hasHead: Bool, hasLostBody: Bool) -> Decision {
        guard !hasHead, !hasLostBody else { return .fails }
        if reason == .passedOver {
            guard passes < Self.maximumPasses else { return .fails }
            passes += 1
            return .again(after: .zero)
        }
        guard count < Self.maximum else { return .fails }
        let decision: Decision =
            switch reason {
            case .reset(.refusedStream): again
            case .reset(.http11Required), .excluded(.http11Required): .againOverHTTP1
            case .reset: .fails
            case .excluded(.enhanceYourCalm): count == 0 ? .again(after: Self.calmWait) : .fails
            case .excluded(.noError), .passedOver: .again(after: .zero)
            case .excluded: again
            case .lost(let isUsed): isUsed && mayBeReplayed ? .again(after: .zero) : .fails
            }
        if case .lost = reason { mayBeProcessed = true }
        if decision != .fails { count += 1 }
        return decision
    }

    private var again: Decision { .again(after: count == 0 ? .zero : Self.refusalWait * (1 << (count - 1))) }
}

/// The time in which no connection is made to an origin that asks for calm, and no stream is opened there.
struct HTTP2Calm: Hashable, Sendable {
    /// The longest wait.
    private static let longest = Duration.seconds(60)

    private var wait = HTTP2Repetition.calmWait
    /// The end of the present wait; `nil` if there is none.
    private(set) var end: EngineInstant?

    init() {}

    /// Records ENHANCE_YOUR_CALM, of a stream or a connection. Requests in the same second are one storm, and count once.
    mutating func didReceiveCall(at now: EngineInstant) {
        if let end, now < end { return }
        end = now.advanced(by: wait)
        wait = min(wait * 2, Self.longest)
    }

    /// Records a complete response after a wait.
    mutating func didReceiveResponse(at now: EngineInstant) {
        guard let end, now >= end else { return }
        (self.end, wait) = (nil, HTTP2Repetition.calmWait)
    }

    /// Returns whether requests wait.
    func isOn(at now: EngineInstant) -> Bool { end.map { now < $0 } ?? false }
}
