import HTTPTypes

extension TrellisError {
    /// A stable name for each kind of failure, for logs and for tools.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case invalidURL = "invalid_url"
        case invalidRequest = "invalid_request"
        case dns, connect, proxy, tls, untrusted
        case connectTimeout = "timeout_connect"
        case idleTimeout = "timeout_idle"
        case deadline = "timeout_deadline"
        case cancelled, send, receive
        case truncatedBody = "truncated_body"
        case malformedResponse = "malformed_response"
        case bodyTooLarge = "body_too_large"
        case tooManyRedirects = "too_many_redirects"
        case redirectRefused = "redirect_refused"
        case circuitOpen = "circuit_open"
        case rateLimited = "rate_limited"
        case contentCoding = "content_coding"
        case http2, http3, unsupported
        case unacceptableStatus = "unacceptable_status"
        case unacceptableContentType = "unacceptable_content_type"
        case serialization
        case bodyNotReplayable = "body_not_replayable"
        case resumeData = "resume_data"
        case checksumMismatch = "checksum_mismatch"
        case file, other
    }

    /// The kind of the failure.
    public var kind: Kind {
        switch reason {
        case .invalidRequest(.url): .invalidURL
        case .invalidRequest: .invalidRequest
        case .connectionFailed(.nameResolution): .dns
        case .connectionFailed(.unreachable): .connect
        case .proxyFailed: .proxy
        case .securityFailed(.handshake): .tls
        case .securityFailed(.untrusted): .untrusted
        case .securityFailed(.certificateAuthorityFile): .file
        case .timedOut(.connect): .connectTimeout
        case .timedOut(.idle), .timedOut(.responseHead): .idleTimeout
        case .timedOut(.total): .deadline
        case .cancelled: .cancelled
        case .exchangeFailed(.send): .send
        case .exchangeFailed(.receive), .exchangeFailed(.connectionLost), .exchangeFailed(.flooded): .receive
        case .exchangeFailed(.http2): .http2
        case .exchangeFailed(.http3): .http3
        case .invalidResponse(.malformed), .invalidResponse(.headTooLarge): .malformedResponse
        case .invalidResponse(.bodyCutShort): .truncatedBody
        case .invalidResponse(.bodyTooLarge): .bodyTooLarge
        case .invalidResponse(.contentCoding): .contentCoding
        case .validationFailed(.status): .unacceptableStatus
        case .validationFailed(.contentType): .unacceptableContentType
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
        case .limited(.rate): .rateLimited
        case .unsupported: .unsupported
        }
    }

    /// A Boolean value: a limit of ``Timeouts`` was reached.
    public var isTimeout: Bool { if case .timedOut = reason { true } else { false } }

    /// A Boolean value: the connection could not be established, because of the host name, TCP, the proxy, TLS, or the time limit
    /// for all of them.
    public var isConnectionFailure: Bool {
        switch reason {
        case .connectionFailed, .proxyFailed, .securityFailed(.handshake), .securityFailed(.untrusted),
            .timedOut(.connect):
            true
        default: false
        }
    }

    /// A Boolean value: the request was ended on purpose.
    public var isCancellation: Bool { if case .cancelled = reason { true } else { false } }

    /// A Boolean value: a server may have received part of the request, or of an earlier attempt or hop of the same call. `false`
    /// only if it is certain that no server did.
    public var mayHaveSentBytes: Bool { earlierTraffic != .none || hasReachedServer }

    private var hasReachedServer: Bool { phase == .sending || phase == .receiving || phase == .received }

    /// A Boolean value: the same call may succeed if it is made again. The failure is temporary, and sending again does no harm,
    /// because nothing was sent, or only requests with idempotent methods (RFC 9110, section 9.2.2), including the requests before a
    /// redirect.
    public var isRetryable: Bool {
        isTransient && earlierTraffic != .other && (!hasReachedServer || (method?.isIdempotent ?? false))
    }

    /// A Boolean value: the failure is temporary, regardless of the request. Retries, downloads, event sources and circuits all
    /// start from this value; their exceptions are documented where they are made.
    var isTransient: Bool {
        switch reason {
        // A server does not flood a connection by chance.
        case .exchangeFailed(.flooded): false
        case .connectionFailed, .timedOut(.connect), .timedOut(.responseHead), .timedOut(.idle), .exchangeFailed,
            .invalidResponse(.bodyCutShort), .limited:
            true
        case .proxyFailed(let failure): failure.isTransient
        case .validationFailed(.status(let code)): HTTPResponse.Status(code: code).isTransient
        default: false
        }
    }
}
