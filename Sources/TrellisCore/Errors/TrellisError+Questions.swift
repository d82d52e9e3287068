import HTTPTypes

extension TrellisError {
    /// A stable name for each kind of failure, for logs and for tools.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The URL is empty, relative, malformed, or neither `http` nor `https`.
        case invalidURL = "invalid_url"
        /// The request cannot be sent as it is: its method, a field, its body or its parameters.
        case invalidRequest = "invalid_request"
        /// The host name could not be resolved.
        case dns
        /// No connection to the server could be established.
        case connect
        /// The proxy could not be reached, or did not let the request pass.
        case proxy
        /// The ``EgressPolicy`` of the session refuses the request.
        case egressRefused = "egress_refused"
        /// The origin has no endpoint: ``EndpointPool``.
        case noEndpoint = "no_endpoint"
        /// The TLS handshake failed, or the client certificate cannot be used or is not accepted.
        case tls
        /// The certificate of the server is not trusted.
        case untrusted
        /// The server has none of the pins of an evaluator (``PublicKeysTrustEvaluator``, ``PinnedCertificatesTrustEvaluator``).
        case pinMismatch = "pin_mismatch"
        /// The evaluator of the server's host does not trust it (``ServerTrustManager``).
        case trustRefused = "trust_refused"
        /// The limit ``Timeouts/connect`` was reached.
        case connectTimeout = "timeout_connect"
        /// The limit ``Timeouts/responseHead`` was reached.
        case responseTimeout = "timeout_response"
        /// The limit ``Timeouts/idle`` was reached.
        case idleTimeout = "timeout_idle"
        /// The limit ``Timeouts/total`` was reached.
        case totalTimeout = "timeout_deadline"
        /// The request was cancelled with its handle or stream, or its session was shut down.
        case cancelled
        /// The request could not be sent on its connection.
        case send
        /// The response could not be received on its connection.
        case receive
        /// The body of the response ended before it was complete.
        case truncatedBody = "truncated_body"
        /// The response is not valid HTTP, or its head is too large.
        case malformedResponse = "malformed_response"
        /// The body of the response, or an element of it, exceeds its limit.
        case bodyTooLarge = "body_too_large"
        /// The redirects exceed their limit, or form a loop.
        case tooManyRedirects = "too_many_redirects"
        /// A redirect was not followed because of its target.
        case redirectRefused = "redirect_refused"
        /// The circuit of the host is open (``CircuitBreaker``).
        case circuitOpen = "circuit_open"
        /// The delay by a rate limit would exceed its limit (``RateLimiter``), or a pause that the host has asked for
        /// would exceed the deadline (``AdaptiveConcurrency``).
        case rateLimited = "rate_limited"
        /// The request was not let wait for a connection (``ConnectionLimits/waitingPerOrigin``, ``ConnectionLimits/shedsLateRequests``).
        case shed
        /// The content coding of the response is unknown, or the coded body is malformed.
        case contentCoding = "content_coding"
        /// HTTP/2 failed on the connection.
        case http2
        /// HTTP/3 failed on the connection.
        case http3
        /// The running libcurl, or Trellis, lacks a feature that was requested.
        case unsupported
        /// The status of the response is not accepted.
        case unacceptableStatus = "unacceptable_status"
        /// The content type of the response is not accepted.
        case unacceptableContentType = "unacceptable_content_type"
        /// The body of the response does not have the digest that its fields promise.
        case unacceptableDigest = "unacceptable_digest"
        /// The response has no valid signature.
        case unacceptableSignature = "unacceptable_signature"
        /// The body of the response cannot be read as the requested type.
        case serialization
        /// The body of the request has to be sent again, but its source can be read only once.
        case bodyNotReplayable = "body_not_replayable"
        /// The ``ResumeData`` of a download cannot be used.
        case resumeData = "resume_data"
        /// The downloaded file does not have the expected ``Checksum``.
        case checksumMismatch = "checksum_mismatch"
        /// A file cannot be read or written: of a body, a download, a client certificate or the certificate authorities.
        case file
        /// The handshake or a frame of a WebSocket is not valid, or its connection ended without being closed properly.
        case webSocket = "websocket"
        /// Any other failure, such as an error of the source of a body.
        case other
    }

    /// The kind of the failure.
    public var kind: Kind {
        switch reason {
        case .invalidRequest(.url): .invalidURL
        case .invalidRequest: .invalidRequest
        case .connectionFailed(.nameResolution): .dns
        case .connectionFailed(.noEndpoint): .noEndpoint
        case .connectionFailed(.unreachable), .connectionFailed(.source): .connect
        case .proxyFailed: .proxy
        case .egressRefused: .egressRefused
        case .securityFailed(.clientIdentity(let failure)) where failure.isOfFile: .file
        case .securityFailed(.handshake), .securityFailed(.version), .securityFailed(.clientIdentity): .tls
        case .securityFailed(.untrusted): .untrusted
        case .securityFailed(.pinMismatch): .pinMismatch
        case .securityFailed(.serverTrustEvaluationFailed): .trustRefused
        case .securityFailed(.certificateAuthorityFile), .securityFailed(.keyLogFile): .file
        case .timedOut(.connect): .connectTimeout
        case .timedOut(.responseHead): .responseTimeout
        case .timedOut(.idle): .idleTimeout
        case .timedOut(.total): .totalTimeout
        case .cancelled: .cancelled
        case .exchangeFailed(.send): .send
        case .exchangeFailed(.receive), .exchangeFailed(.connectionLost), .exchangeFailed(.flooded): .receive
        case .exchangeFailed(.http2), .exchangeFailed(.http2NotAgreed): .http2
        case .exchangeFailed(.http3): .http3
        case .invalidResponse(.malformed), .invalidResponse(.headTooLarge): .malformedResponse
        case .invalidResponse(.bodyCutShort): .truncatedBody
        case .invalidResponse(.bodyTooLarge): .bodyTooLarge
        case .invalidResponse(.contentCoding): .contentCoding
        case .validationFailed(.status): .unacceptableStatus
        case .validationFailed(.contentType): .unacceptableContentType
        case .validationFailed(.digest): .unacceptableDigest
        case .validationFailed(.signature): .unacceptableSignature
        case .serializationFailed: .serialization
        case .bodyFailed(.file): .file
        case .bodyFailed(.lengthMismatch): .invalidRequest
        case .bodyFailed(.sourceFailed), .other: .other
        case .bodyFailed(.notReplayable): .bodyNotReplayable
        case .downloadFailed(.exists), .downloadFailed(.file), .downloadFailed(.unreadable): .file
        case .downloadFailed(.checksum): .checksumMismatch
        case .downloadFailed(.resumeData): .resumeData
        case .redirectFailed(.tooMany), .redirectFailed(.loop): .tooManyRedirects
        case .redirectFailed(.refused): .redirectRefused
        case .limited(.circuitOpen): .circuitOpen
        case .limited(.rate), .limited(.paused): .rateLimited
        case .limited(.shed): .shed
        case .webSocketFailed: .webSocket
        case .unsupported: .unsupported
        }
    }

    /// Whether a limit of ``Timeouts`` was reached.
    public var isTimeout: Bool { if case .timedOut = reason { true } else { false } }

    /// Whether the connection could not be established, because of the host name, TCP, the proxy, TLS, or the time limit
    /// for all of them.
    public var isConnectionFailure: Bool {
        switch reason {
        case .connectionFailed, .proxyFailed, .securityFailed(.handshake), .securityFailed(.version),
            .securityFailed(.untrusted), .securityFailed(.clientIdentity(.required)),
            .securityFailed(.clientIdentity(.refused)), .securityFailed(.clientIdentity(.requiredByProxy)),
            .securityFailed(.clientIdentity(.refusedByProxy)), .securityFailed(.pinMismatch),
            .securityFailed(.serverTrustEvaluationFailed), .timedOut(.connect):
            true
        default: false
        }
    }

    /// Whether the request was not let wait, because its wait would have been for nothing, or because too many requests wait.
    public var isShed: Bool { if case .limited(.shed) = reason { true } else { false } }

    /// Whether the request was ended on purpose.
    public var isCancellation: Bool { if case .cancelled = reason { true } else { false } }

    /// Whether a server may have received part of the request, or of an earlier attempt or hop of the same call. `false`
    /// only if it is certain that no server did.
    public var mayHaveSentBytes: Bool { earlierTraffic != .none || hasReachedServer }

    /// Whether the request was being sent, or was sent.
    var hasReachedServer: Bool { phase == .sending || phase == .receiving || phase == .received }

    /// Whether the same call may succeed if it is made again. The failure is temporary, and sending again does no harm,
    /// because nothing was sent, or only requests with idempotent methods (RFC 9110, section 9.2.2), including the requests before a
    /// redirect, or because the server has reported that it did not process the request (RFC 9113, section 8.7).
    public var isRetryable: Bool { isTransient && mayBeMadeAgain(nil) }

    /// Returns whether the same call does no harm if it is made again: nothing was sent or processed, or only requests with idempotent
    /// methods. An `Idempotency-Key` does not count, because a new call may have another one.
    ///
    /// - Parameter asked: The method that the caller asked for, which counts if the error has none.
    package func mayBeMadeAgain(_ asked: HTTPRequest.Method?) -> Bool {
        if isOfOtherCall, asked != nil { return earlierTraffic != .other }
        guard earlierTraffic != .other else { return false }
        return !hasReachedServer || isUnprocessed || (method ?? asked)?.isIdempotent ?? false
    }

    /// Records the call that throws the error. A step may throw the error of another call, such as the error of the request for a token.
    mutating func wasThrown(by call: UInt64) {
        if metrics.callID == 0 { metrics.callID = call }
        isOfOtherCall = metrics.callID != call
    }

    /// Whether the failure is temporary, regardless of the request. Retries, downloads, event sources and circuits all
    /// start from this value; their exceptions are documented in their code.
    package var isTransient: Bool {
        switch reason {
        // A server does not flood a connection by chance, and an interface that is missing is an error of the configuration. A server
        // without HTTP/2 has none the next time either.
        case .exchangeFailed(.flooded), .exchangeFailed(.http2NotAgreed), .connectionFailed(.source): false
        case .connectionFailed, .timedOut(.connect), .timedOut(.responseHead), .timedOut(.idle), .exchangeFailed,
            .invalidResponse(.bodyCutShort), .limited:
            true
        case .proxyFailed(let failure): failure.isTransient
        case .webSocketFailed(let failure): failure.isTransient
        case .validationFailed(.status(let code)): HTTPResponse.Status(code: code).isTransient
        default: false
        }
    }
    /// Whether another connection of a sequence of connections may succeed: after a transient error, and after two other
    /// failures, because the sequence is meant to continue forever. A total is the limit of one connection, and a handshake may fail
    /// while a server is replaced.
    package var mayPassWithAnotherConnection: Bool {
        switch reason {
        case .timedOut(.total), .securityFailed(.handshake): true
        default: isTransient
        }
    }
}
