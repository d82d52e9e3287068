extension TrellisError {
    /// The reason for a failure, on two levels: the part of the work that failed, and the cause within that part.
    public enum Reason: Sendable, Hashable {
        /// The request cannot be sent as it is.
        case invalidRequest(InvalidRequest)
        /// The connection could not be established.
        case connectionFailed(ConnectionFailure)
        /// The session's proxy cannot be reached, or does not let the request pass.
        case proxyFailed(ProxyFailure)
        /// The session's ``EgressPolicy`` refuses the request.
        case egressRefused(EgressRefusal)
        /// A trusted TLS connection could not be established.
        case securityFailed(SecurityFailure)
        /// A limit of ``Timeouts`` was reached.
        case timedOut(Timeout)
        /// The request was ended on purpose.
        case cancelled(Cancellation)
        /// The exchange of request and response failed on an established connection.
        case exchangeFailed(ExchangeFailure)
        /// The response is malformed, incomplete or too large, or cannot be decoded.
        case invalidResponse(InvalidResponse)
        /// The response has a status or content type that the caller does not accept.
        case validationFailed(ValidationFailure)
        /// The response's body cannot be read as the requested type.
        case serializationFailed(SerializationFailure)
        /// The request's body could not be read from its source, or could not be sent.
        case bodyFailed(BodyFailure)
        /// The redirect was not followed.
        case redirectFailed(RedirectFailure)
        /// The file of a download could not be written, verified or resumed.
        case downloadFailed(DownloadFailure)
        /// A limit of the session keeps the request from being sent.
        case limited(LimitFailure)
        /// The conversation over a WebSocket failed after the server's response to its handshake, or in it.
        case webSocketFailed(WebSocketFailure)
        /// The running libcurl, or Trellis, lacks a feature that was requested; the text names the feature.
        case unsupported(String)
        /// Any other failure inside the framework or libcurl; the text describes the failure.
        case other(String)

        /// Returns the reason for a URL that cannot be requested.
        static func invalidURL(_ reason: String) -> Reason { .invalidRequest(.url(reason)) }
    }

    /// The reason why a request cannot be sent as it is.
    public enum InvalidRequest: Sendable, Hashable {
        /// The URL is empty, relative, malformed, or neither `http` nor `https`.
        case url(String)
        /// The method is not a token, or is `CONNECT`.
        case method(String)
        /// A header field contains bytes that would end its line, or has a name that is not a token (RFC 9110, section 5.1).
        case headerField(String)
        /// The method does not allow a body, or the body cannot be sent.
        case body(String)
        /// The parameters cannot be encoded; the encoder's error is ``TrellisError/underlying``.
        case parameters(String)
        /// The ``Checksum`` has no hexadecimal digits, or the wrong length.
        case checksum(String)
        /// The proxy cannot be used: the combination of proxies or its credentials are not possible, or a variable of the environment does
        /// not name one.
        case proxy(String)
        /// The text is not a ``HostPattern``.
        case hostPattern(String)
        /// The evaluator of the trust in servers, or a part of it such as a pin or a certificate, cannot be created.
        case trustEvaluator(String)
        /// The settings of ``TLSConfiguration`` are not possible.
        case tls(String)
        /// The ``Route`` cannot be used: one of its parts is malformed, or does not go with the URL.
        case route(String)
        /// The text is not a network of an ``EgressPolicy``.
        case egress(String)
        /// A validator was added after the request had started.
        case lateValidator
        /// The request cannot be signed: a part that the signature covers is missing, or the key cannot be used.
        case signature(String)
    }

    /// The reason why a connection could not be established.
    public enum ConnectionFailure: Sendable, Hashable {
        /// The host name could not be resolved.
        case nameResolution(String)
        /// The server refused the connection, or could not be reached.
        case unreachable(String)
        /// The interface or the address of ``Route/source`` does not exist, or cannot be used.
        case source(String)
        /// The origin has an ``EndpointPool``, and its source has named no endpoint.
        case noEndpoint(String)
    }

    /// The time limit that was reached.
    public enum Timeout: String, Sendable, Hashable, CaseIterable {
        /// The limit ``Timeouts/connect``.
        case connect
        /// The limit ``Timeouts/responseHead``.
        case responseHead
        /// The limit ``Timeouts/idle``.
        case idle
        /// The limit ``Timeouts/total``, or that on a whole conversation over a ``WebSocket``.
        case total
    }

    /// The action that ended the request.
    public enum Cancellation: Sendable, Hashable {
        /// A call of ``DataRequest/cancel()`` or ``StreamResponse/cancel()``.
        case explicitly
        /// A call of ``Session/shutdown(drainingFor:)``.
        case sessionShutDown
    }

    /// The reason why an exchange failed on an established connection.
    public enum ExchangeFailure: Sendable, Hashable {
        /// The request could not be sent.
        case send(String)
        /// The response could not be received, or the server closed the connection without one.
        case receive(String)
        /// A reused connection was lost during a request that must not be sent twice.
        case connectionLost
        /// The server reset the HTTP/2 stream or broke the protocol.
        case http2(String)
        /// The server has not agreed on HTTP/2, which the request demands (``HTTPVersionPolicy/http2``).
        case http2NotAgreed
        /// The server reset the HTTP/3 stream or broke the protocol.
        case http3(String)
        /// The server kept the connection busy without progress, for example with empty frames, for more than one second of
        /// processor time; the connection was closed.
        case flooded
    }

    /// The reason why a response cannot be used.
    public enum InvalidResponse: Sendable, Hashable {
        /// The response breaks the rules of HTTP.
        case malformed(String)
        /// The head, all informational heads together, or the trailers are larger than the limit in bytes.
        case headTooLarge(limit: Int)
        /// The body ended before its announced end.
        case bodyCutShort(String)
        /// The decoded body, or an element of a stream such as a line, is larger than the limit in bytes.
        case bodyTooLarge(limit: Int)
        /// The body cannot be decoded as its `Content-Encoding` says.
        case contentCoding(String)
    }

    /// The reason why a response is not accepted. An error that a ``Validator`` of the user's own throws is not wrapped: the caller
    /// receives that error unchanged.
    public enum ValidationFailure: Sendable, Hashable {
        /// The status is not one of the accepted statuses.
        case status(Int)
        /// The content type is not one of the accepted types; `nil` if the response has none.
        case contentType(String?, acceptable: [String])
        /// The body does not have the digest that the response's fields promise, or has none although one is required.
        case digest(String)
        /// The response has no signature that is valid and covers what it must.
        case signature(String)
    }

    /// The reason why a response's body cannot be read as the requested type. An error that a ``ResponseSerializer`` of the user's
    /// own throws is not wrapped: the caller receives that error unchanged.
    public enum SerializationFailure: Sendable, Hashable {
        /// The response has no body, and the type has no value for an empty body.
        case emptyBody(type: String)
        /// The decoder failed; its error is ``TrellisError/underlying``.
        case decoding(type: String, reason: String)
        /// The bytes are not text in the requested encoding, or the encoding that the response declares is not supported.
        case text(encoding: String)
        /// The body does not have the format that it is read as, such as `multipart`.
        case format(String)
        /// An element of a stream, such as `line 7`, cannot be decoded; ``TrellisError/underlying`` is the
        /// ``UndecodableElement``.
        case element(String, type: String, reason: String)
    }

    /// The reason why a redirect is not followed; the response with the redirect is ``TrellisError/response``.
    public enum RedirectFailure: Sendable, Hashable {
        /// The number of redirects that had been followed before was ``RedirectPolicy/maximumRedirects``.
        case tooMany(limit: Int)
        /// The chain of redirects reached this URL too often.
        case loop(url: String)
        /// The redirect leads to a target that is not allowed, or has no usable target.
        case refused(String)
    }

    /// The limit that keeps a request from being sent.
    public enum LimitFailure: Sendable, Hashable {
        /// The ``RateLimit`` would delay the request for longer than `maximumWait`.
        case rate(host: String, wait: Duration, maximumWait: Duration)
        /// The host has asked its clients to stay away for a time that is longer than what remains of the deadline
        /// (``AdaptiveConcurrency``).
        case paused(host: String, wait: Duration, remaining: Duration)
        /// The host's ``CircuitBreaker`` is open, because `failures` of the last `requests` requests failed. The circuit stays open
        /// for `nextAttempt` or, if that is `nil`, until the probing request under way has succeeded.
        case circuitOpen(host: String, failures: Int, requests: Int, nextAttempt: Duration?)
        /// The request does not wait for a connection behind `ahead` others of its origin: its deadline is earlier than the estimated
        /// `wait` (``ConnectionLimits/shedsLateRequests``) or, if that is `nil`, more requests would wait than
        /// ``ConnectionLimits/waitingPerOrigin``.
        case shed(origin: String, ahead: Int, wait: Duration?)
    }

    /// The reason why a download has no file.
    public enum DownloadFailure: Sendable, Hashable {
        /// A file exists at the destination, and was not to be replaced.
        case exists(path: String)
        /// The file cannot be written, or cannot be moved into its place.
        case file(path: String, reason: String)
        /// The existing file whose digest is to be computed cannot be read.
        case unreadable(path: String, reason: String)
        /// The file does not have the expected digest, and has been deleted. Both digests are in hexadecimal digits.
        case checksum(name: String, expected: String, found: String)
        /// The ``ResumeData`` cannot be used.
        case resumeData(String)
    }

    /// The reason why a request's body could not be sent.
    public enum BodyFailure: Sendable, Hashable {
        /// The file of the body cannot be used.
        case file(path: String, reason: String)
        /// The source gave more or fewer bytes than it had promised.
        case lengthMismatch(promised: Int64, given: Int64)
        /// The source threw an error, which is ``TrellisError/underlying``.
        case sourceFailed
        /// The body would have to be sent a second time, but its source can be read only once.
        case notReplayable
    }
}

extension TrellisError.Reason {
    /// The detail of an error that has none of its own; `nil` if the reason says it all.
    var usualDetail: String? {
        if case .invalidRequest(.headerField) = self { "it holds bytes that no field may hold" } else { nil }
    }
}

extension TrellisError.Reason: CustomStringConvertible {
    /// The failure in words.
    public var description: String {
        switch self {
        case .invalidRequest(.url(let reason)): "the URL cannot be requested: \(reason)"
        case .invalidRequest(.method(let method)): "the method \(method) cannot be sent: not a token, or CONNECT"
        case .invalidRequest(.headerField(let name)): "the header field \(name) cannot be sent"
        case .invalidRequest(.body(let reason)): "the body cannot be sent: \(reason)"
        case .invalidRequest(.parameters(let reason)): "the parameters cannot be encoded: \(reason)"
        case .invalidRequest(.checksum(let reason)): "the checksum is invalid: \(reason)"
        case .invalidRequest(.proxy(let reason)), .invalidRequest(.route(let reason)),
            .invalidRequest(.egress(let reason)):
            reason
        case .invalidRequest(.hostPattern(let text)):
            "\"\(text)\" is not a pattern of hosts, such as example.com, *.example.com, **.example.com or an address"
        case .invalidRequest(.trustEvaluator(let reason)): reason
        case .invalidRequest(.tls(let reason)): "the settings of TLS are not possible: \(reason)"
        case .invalidRequest(.lateValidator): "a validator was added after the request had started"
        case .invalidRequest(.signature(let reason)): "the request cannot be signed: \(reason)"
        case .connectionFailed(.nameResolution(let reason)): "the host name could not be resolved: \(reason)"
        case .connectionFailed(.unreachable(let reason)): "no connection to the server: \(reason)"
        case .connectionFailed(.source(let reason)): "no connection can be made from \(reason)"
        case .connectionFailed(.noEndpoint(let reason)): reason
        case .proxyFailed(let failure): failure.description
        case .egressRefused(let refusal): "the egress policy refuses the request: \(refusal)"
        case .securityFailed(let failure): failure.description
        case .timedOut(let timeout): "timed out (\(timeout.rawValue))"
        case .cancelled(.explicitly): "the request was cancelled"
        case .cancelled(.sessionShutDown): "the session was shut down"
        case .exchangeFailed(.send(let reason)): "the request could not be sent: \(reason)"
        case .exchangeFailed(.receive(let reason)): "the response could not be received: \(reason)"
        case .exchangeFailed(.connectionLost):
            "the connection was lost, and the request may have arrived, so it was not sent again"
        case .exchangeFailed(.http2(let reason)): "HTTP/2 failed: \(reason)"
        case .exchangeFailed(.http2NotAgreed):
            "HTTP/2 failed: the server has not agreed on HTTP/2 in the TLS handshake (ALPN)"
        case .exchangeFailed(.http3(let reason)): "HTTP/3 failed: \(reason)"
        case .exchangeFailed(.flooded):
            "the server kept the connection busy without progress for more than 1 s of processor time"
        case .invalidResponse(.malformed(let reason)): "the response is malformed: \(reason)"
        case .invalidResponse(.headTooLarge(let limit)): "the response's head exceeds \(limit) bytes"
        case .invalidResponse(.bodyCutShort(let reason)): "the response's body was cut short: \(reason)"
        case .invalidResponse(.bodyTooLarge(let limit)): "the response's body exceeds \(limit) bytes"
        case .invalidResponse(.contentCoding(let reason)): "the response's body cannot be decoded: \(reason)"
        case .validationFailed(.status(let code)):
            "the status \(code)\(TrellisError.phrase(of: code).map { " (\($0))" } ?? "") is not accepted"
        case .validationFailed(.contentType(let type, let acceptable)):
            "\(type.map { "the content type \($0)" } ?? "a response without a content type") is not accepted, only "
                + acceptable.joined(separator: ", ")
        case .validationFailed(.digest(let reason)): "the body of the response is not accepted: \(reason)"
        case .validationFailed(.signature(let reason)): "the signature of the response is not accepted: \(reason)"
        case .serializationFailed(.emptyBody(let type)):
            "the response has no body, and \(type) has no value for an empty body"
        case .serializationFailed(.decoding(let type, let reason)): "the response is no \(type): \(reason)"
        case .serializationFailed(.text(let encoding)): "the response's body cannot be read as text in \(encoding)"
        case .serializationFailed(.format(let reason)): "the response cannot be read: \(reason)"
        case .serializationFailed(.element(let which, let type, let reason)):
            "\(which) of the response is no \(type): \(reason)"
        case .bodyFailed(.file(let path, let reason)): "the file \(path) cannot be sent: \(reason)"
        case .bodyFailed(.lengthMismatch(let promised, let given)):
            "the body's source promised \(promised) bytes and gave \(given)"
        case .bodyFailed(.sourceFailed): "the body's source failed"
        case .bodyFailed(.notReplayable): "the body has to be sent again, but its source can be read only once"
        case .downloadFailed(.exists(let path)): "there is a file at \(path) already"
        case .downloadFailed(.file(let path, let reason)): "the file \(path) cannot be written: \(reason)"
        case .downloadFailed(.unreadable(let path, let reason)): "the file \(path) cannot be read: \(reason)"
        case .downloadFailed(.checksum(let name, let expected, let found)):
            "the file does not have the expected checksum: its \(name) is \(found), not \(expected)"
        case .downloadFailed(.resumeData(let reason)): "the resume data cannot be used: \(reason)"
        case .redirectFailed(.tooMany(limit: ...0)): "there is a redirect, and none is followed"
        case .redirectFailed(.tooMany(let limit)): "there are more than \(limit) redirects in a row"
        case .redirectFailed(.loop(let url)): "the redirects lead to \(url) again and again"
        case .redirectFailed(.refused(let reason)): "the redirect is refused: \(reason)"
        case .limited(.rate(let host, let wait, let maximumWait)):
            "the rate limit of \(host) would hold the request up for \(wait.rounded), which is more than "
                + maximumWait.rounded
        case .limited(.paused(let host, let wait, let remaining)):
            "\(host) has asked for no requests for \(wait.rounded), and the deadline comes in \(remaining.rounded)"
        case .limited(.circuitOpen(let host, let failures, let requests, let nextAttempt)):
            "the circuit to \(host) is open after \(failures) of \(requests) requests failed; "
                + (nextAttempt.map { "next attempt in \($0.rounded)" }
                    ?? "a request is under way to see whether it can be closed")
        case .limited(.shed(let origin, let ahead, let wait)):
            wait.map {
                "the wait for \(origin) would take about \($0.rounded), with \(ahead) ahead of the request, "
                    + "and the deadline is earlier"
            } ?? "too many requests wait for \(origin): \(ahead) are ahead of this one"
        case .webSocketFailed(let failure): failure.description
        case .unsupported(let what): "not supported by the running libcurl: \(what)"
        case .other(let what): what
        }
    }
}

extension TrellisError.Reason {
    /// Whether the description contains the text of the underlying error already.
    var tellsCause: Bool {
        switch self {
        case .serializationFailed, .invalidRequest(.parameters), .connectionFailed(.nameResolution),
            .proxyFailed(.nameResolution):
            true
        default: false
        }
    }
}
