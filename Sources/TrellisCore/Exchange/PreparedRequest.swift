import CurlEngine
import FoundationEssentials
import HTTPTypes

/// A request that was checked and completed with its session's defaults, with everything that its exchange needs. A subclass of what
/// transports get, so that a request is one object.
package final class PreparedRequest: TransportRequest, @unchecked Sendable {
    // Unchecked: every member is a constant of a type that is `Sendable`.

    /// A body whose chunks are produced while it is sent.
    final class StreamedBody: Sendable {
        /// The length of the body in bytes; `nil` if not known.
        let length: Int64?
        /// Whether the chunks can be produced a second time.
        let isReplayable: Bool
        /// The path of the file that has the same bytes as the chunks, for transports that read files themselves; `nil` if the body is not
        /// a file.
        let file: String?
        let chunks: RequestBody.Chunks
        /// Returns the fields after the body, once all chunks are produced; `nil` if there are none.
        let trailers: RequestTrailers?

        init(
            length: Int64?, isReplayable: Bool, file: String? = nil, trailers: RequestTrailers? = nil,
            chunks: @escaping RequestBody.Chunks
        ) {
            self.length = length
            self.isReplayable = isReplayable
            self.file = file
            self.trailers = trailers
            self.chunks = chunks
        }

        deinit { UserObjects.release([UserParts(chunks: chunks, trailers: trailers)]) }

        /// The closures that may be the user's.
        private struct UserParts: Sendable {
            let chunks: RequestBody.Chunks
            let trailers: RequestTrailers?
        }

        /// Returns the same body with fields after it.
        func with(_ trailers: @escaping RequestTrailers) -> StreamedBody {
            StreamedBody(length: length, isReplayable: isReplayable, file: file, trailers: trailers, chunks: chunks)
        }
    }

    let streamedBody: StreamedBody?
    /// The time limits of the request.
    let limits: TimeLimits
    /// The limit on the decoded body of the response.
    let maximumBodySize: ByteLimit
    /// When the call was made.
    let start: EngineInstant
    /// How long the body waits for the server's permission (`Expect: 100-continue`), in nanoseconds, if it waits.
    let expectContinueTimeout: UInt64?
    /// The earlier attempts and redirects of the call; `nil` if the request belongs to none, such as that for a script.
    let history: AttemptHistory?
    /// The decision about the proxies; `nil` if there was none to make.
    let proxyDecision: ProxyDecision?
    /// The evaluation of the server's certificates; `nil` if there is none.
    let trustEvaluation: HostTrust?

    init(
        request: Request, defaultFields: HTTPFields?, wire: TransferOptions, streamedBody: StreamedBody?,
        limits: TimeLimits, maximumBodySize: ByteLimit, start: EngineInstant,
        expectContinueTimeout: UInt64? = nil, history: AttemptHistory? = nil, callID: UInt64 = 0,
        proxyDecision: ProxyDecision? = nil, trustEvaluation: HostTrust? = nil
    ) {
        self.streamedBody = streamedBody
        self.limits = limits
        self.maximumBodySize = maximumBodySize
        self.start = start
        self.expectContinueTimeout = expectContinueTimeout
        self.history = history
        self.proxyDecision = proxyDecision
        self.trustEvaluation = trustEvaluation
        super.init(source: request, defaultFields: defaultFields, wire: wire, callNumber: callID)
    }

    /// The number of the call within its process.
    var callID: UInt64 { callNumber }

    /// Returns whether a response is a redirect that the call follows or refuses, so that nobody gets its body.
    func isFollowed(_ head: ResponseHead) -> Bool {
        (history?.followsEachRedirect ?? true) && !head.redirectTargets.isEmpty
    }

    var origin: String { wire.url.origin }

    /// The parts of the request that its response keeps.
    var answered: AnsweredRequest { AnsweredRequest(source, defaultFields: defaultFields) }

    /// The URL of the proxy, without credentials; `nil` if there is none.
    var proxyURL: String? {
        guard let proxyDecision else { return nil }
        let proxy = source.extras?.extras.selected?.proxy ?? proxyDecision.proxies.first
        return proxy.flatMap { $0 == .direct ? nil : $0.url }
    }

    /// Whether the request can share its connection with others.
    var mayShareConnection: Bool {
        switch wire.version {
        case .http2OverTLS, .http3WithFallback: wire.url.isSecure && EngineConfiguration.sharesConnections
        case .http1: false
        case .http2Only, .http2PriorKnowledge, .http3Only: true
        }
    }
}

/// What follows from the request for its exchange.
extension PreparedRequest {
    /// The facts about the request with which its exchange begins.
    var facts: ExchangeState.Facts {
        var facts: ExchangeState.Facts = []
        if streamedBody != nil { facts.insert(.hasSource) }
        if expectContinueTimeout != nil { facts.insert(.expectsContinue) }
        return facts
    }

    /// Returns the error for a failure.
    func error(for failure: TransportFailure) -> TrellisError {
        var error = TrellisError(reason(for: failure))
        error.isUnprocessed = failure.isUnprocessed
        error.isUntried = failure.reason == .timedOut(.connect) && limits.connect == 0
        return error
    }

    /// Returns the error reason for a failure. That the engine cannot send the body again is only a consequence: the reason is the loss of
    /// the connection. The body may still be replayable for a retrier.
    private func reason(for failure: TransportFailure) -> TrellisError.Reason {
        guard failure.reason == .bodyFailed(.notReplayable) else { return failure.reason }
        if streamedBody?.isReplayable != false { return .exchangeFailed(.connectionLost) }
        return failure.loss ?? failure.reason
    }
}

/// The judgement whether an exchange sends its request again: on another connection after a failure, or without its expectation.
extension PreparedRequest {
    /// The request without the expectation of status 100.
    var withoutExpectation: TransportRequest {
        var request = request
        request.expectContinueTimeout = nil
        request.headers[.expect] = nil
        return TransportRequest(request: request, wire: wire.withoutExpectation, callNumber: callNumber)
    }

    /// Returns whether the request is sent without its expectation after a status of 417.
    func mayDropExpectation(in state: ExchangeState) -> Bool {
        guard expectContinueTimeout != nil, state.expectation != .dropped, !source.isSentOnce else { return false }
        return state.expectation == .awaited || streamedBody?.isReplayable == true
    }

    /// Returns whether the request is sent again after a failure before its head, if its body can be sent again. An idempotent request is
    /// sent again if a reused connection was dead. Any request is sent again if the server has refused it without processing it, and one
    /// that is sent once is sent again only then. Often the engine has done so already, but it cannot read a body again.
    func mayRestart(after failure: TransportFailure, isReused: Bool) -> Bool {
        guard !failure.isFinal, source.mayBeReplayed || failure.isUnprocessed else { return false }
        if failure.reason == .bodyFailed(.notReplayable) { return streamedBody?.isReplayable == true }
        guard failure.isUnprocessed || failure.isConnectionFailure && isReused else { return false }
        return streamedBody?.isReplayable != false
    }
}

extension PreparedRequest: SentRequest {
    package var sentRequest: Request { request }
}

extension TrellisError.Phase {
    /// Creates the phase of an error that ends an attempt with this progress; `nil` means that the attempt has not started.
    init(_ progress: ExchangeState.Progress?) {
        self =
            switch progress {
            case nil: .composing
            case .parked, .queued: .queued
            case .connecting: .connecting
            case .sending: .sending
            case .receiving: .receiving
            }
    }
}
