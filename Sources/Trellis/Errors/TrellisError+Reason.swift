extension TrellisError {
    /// What went wrong, on two levels: the part of the work, and in it the cause.
    public enum Reason: Sendable, Hashable {
        /// The request cannot be sent as it is.
        case invalidRequest(InvalidRequest)
        /// No connection came about.
        case connectionFailed(ConnectionFailure)
        /// The session's proxy cannot be reached, or lets nothing through.
        case proxyFailed(ProxyFailure)
        /// No trustworthy TLS connection came about.
        case securityFailed(SecurityFailure)
        /// A limit of ``Timeouts`` was reached.
        case timedOut(Timeout)
        /// The request was ended on purpose.
        case cancelled(Cancellation)
        /// The connection broke while the exchange was under way.
        case exchangeFailed(ExchangeFailure)
        /// The response is not one that can be used.
        case invalidResponse(InvalidResponse)
        /// The response is not what the caller accepts.
        case validationFailed(ValidationFailure)
        /// The response's body is not what it was to be read as.
        case serializationFailed(SerializationFailure)
        /// The request's body failed.
        case bodyFailed(BodyFailure)
        /// A redirect is not followed.
        case redirectFailed(RedirectFailure)
        /// The file of a download failed.
        case downloadFailed(DownloadFailure)
        /// A limit of the session keeps the request from being sent.
        case limited(LimitFailure)
        /// The running libcurl lacks what was asked for.
        case unsupported(String)
        /// Something inside the framework or libcurl; the text is libcurl's.
        case other(String)

        /// Shorthand for a URL that cannot be requested.
        static func invalidURL(_ why: String) -> Reason { .invalidRequest(.url(why)) }
    }

    /// Why a request cannot be sent as it is.
    public enum InvalidRequest: Sendable, Hashable {
        /// The URL is empty, relative, malformed, or neither `http` nor `https`.
        case url(String)
        /// The method is no token, or is `CONNECT`.
        case method(String)
        /// A field holds bytes that would end its line.
        case headerField(String)
        /// The method cannot have a body, or the body is none that can be sent.
        case body(String)
        /// The parameters cannot be encoded; what says so is ``TrellisError/underlying``.
        case parameters(String)
        /// A ``Checksum`` is none.
        case checksum(String)
        /// A validator was added after the request had started.
        case lateValidator
    }

    /// Why no connection came about.
    public enum ConnectionFailure: Sendable, Hashable {
        /// The name could not be resolved.
        case nameResolution(String)
        /// The server refused the connection, or could not be reached.
        case unreachable(String)
    }

    /// Why no trustworthy TLS connection came about.
    public enum SecurityFailure: Sendable, Hashable {
        /// The handshake failed, or the other side does not speak TLS.
        case handshake(String)
        /// The server's certificate is not trusted: expired, for another host, or from an unknown authority.
        case untrusted(String)
        /// A file of certificate authorities cannot be read.
        case certificateAuthorityFile(String)
    }

    /// Which limit was reached.
    public enum Timeout: String, Sendable, Hashable, CaseIterable {
        /// ``Timeouts/connect``
        case connect
        /// ``Timeouts/responseHead``
        case responseHead
        /// ``Timeouts/idle``
        case idle
        /// ``Timeouts/total``
        case total
    }

    /// Who ended the request.
    public enum Cancellation: Sendable, Hashable {
        /// ``DataRequest/cancel()`` or ``StreamResponse/cancel()``.
        case explicitly
        /// ``Session/shutdown(drainingFor:)``.
        case sessionShutDown
    }

    /// How the exchange broke.
    public enum ExchangeFailure: Sendable, Hashable {
        /// The request could not be sent.
        case send(String)
        /// The response could not be received, or the server closed without one.
        case receive(String)
        /// A kept connection died under a request that must not be sent twice.
        case connectionLost
        /// The server reset the HTTP/2 stream or broke the protocol.
        case http2(String)
        /// The same for HTTP/3.
        case http3(String)
        /// The server kept the connection busy with what brings nothing, such as empty frames, for more than a second of
        /// processor time; the connection was cut.
        case flooded
    }

    /// Why a response cannot be used.
    public enum InvalidResponse: Sendable, Hashable {
        /// It breaks the rules of HTTP.
        case malformed(String)
        /// The head, or all informational heads, or the trailers are larger than so many bytes.
        case headTooLarge(limit: Int)
        /// The body ended before its announced end.
        case bodyCutShort(String)
        /// The decoded body is larger than so many bytes.
        case bodyTooLarge(limit: Int)
        /// The body does not decode as its `Content-Encoding` says.
        case contentCoding(String)
    }

    /// Why a response is not accepted. What a ``Validator`` of the user's own throws is not one of these: it comes unchanged.
    public enum ValidationFailure: Sendable, Hashable {
        /// The status is none of those that are accepted.
        case status(Int)
        /// The content type is none of those that are accepted; `nil`: the response has none.
        case contentType(String?, acceptable: [String])
    }

    /// Why a response's body cannot be read as what was asked for. What a ``ResponseSerializer`` of the user's own throws is
    /// not one of these: it comes unchanged.
    public enum SerializationFailure: Sendable, Hashable {
        /// There is no body, and the type cannot do without.
        case emptyBody(type: String)
        /// The decoder refused; its error is ``TrellisError/underlying``.
        case decoding(type: String, why: String)
        /// The bytes are no text in the encoding that was asked for.
        case text(encoding: String)
        /// The body does not have the format that it is read as, such as `multipart`.
        case format(String)
        /// An element of a stream, such as `line 7`, cannot be decoded; ``TrellisError/underlying`` is the
        /// ``UndecodableElement``.
        case element(String, type: String, why: String)
    }

    /// Why a redirect is not followed; ``TrellisError/response`` has it.
    public enum RedirectFailure: Sendable, Hashable {
        /// ``RedirectPolicy/maximumRedirects`` had been followed before.
        case tooMany(limit: Int)
        /// The chain came to this URL too often.
        case loop(url: String)
        /// It leads where no request may go, or nowhere.
        case refused(String)
    }

    /// Which limit keeps a request from being sent.
    public enum LimitFailure: Sendable, Hashable {
        /// The ``RateLimit`` would hold it up for longer than it may.
        case rate(host: String, wait: Duration, maximumWait: Duration)
        /// The host's ``CircuitBreaker`` is open, because so many of its last requests failed; for so long yet, or (`nil`) until
        /// the request has succeeded that was let through to see.
        case circuitOpen(host: String, failures: Int, requests: Int, nextAttempt: Duration?)
    }

    /// Why a download has no file.
    public enum DownloadFailure: Sendable, Hashable {
        /// There is a file at the destination, and it was not to be replaced.
        case exists(path: String)
        /// The file cannot be written, or cannot be moved into its place.
        case file(path: String, why: String)
        /// The file does not have the digest that it was to have; it has been deleted. In hexadecimal digits.
        case checksum(name: String, expected: String, found: String)
        /// The ``ResumeData`` cannot be used.
        case resumeData(String)
    }

    /// How a request's body failed.
    public enum BodyFailure: Sendable, Hashable {
        /// The file cannot be used.
        case file(path: String, why: String)
        /// The source gave more or fewer bytes than it had promised.
        case lengthMismatch(promised: Int64, given: Int64)
        /// The source threw; the error is ``TrellisError/underlying``.
        case sourceFailed
        /// The body would have had to be sent a second time, and cannot be.
        case notReplayable
    }
}

extension TrellisError.Reason: CustomStringConvertible {
    /// What went wrong, in words.
    public var description: String {
        switch self {
        case .invalidRequest(.url(let why)): "the URL cannot be requested: \(why)"
        case .invalidRequest(.method(let method)): "the method \(method) cannot be requested"
        case .invalidRequest(.headerField(let name)): "the header field \(name) holds bytes that no field may hold"
        case .invalidRequest(.body(let why)): "the body cannot be sent: \(why)"
        case .invalidRequest(.parameters(let why)): "the parameters cannot be encoded: \(why)"
        case .invalidRequest(.checksum(let why)): "the checksum is none: \(why)"
        case .invalidRequest(.lateValidator): "a validator was added after the request had started"
        case .connectionFailed(.nameResolution(let why)): "the name could not be resolved: \(why)"
        case .connectionFailed(.unreachable(let why)): "no connection: \(why)"
        case .proxyFailed(let failure): failure.description
        case .securityFailed(.handshake(let why)): "the TLS handshake failed: \(why)"
        case .securityFailed(.untrusted(let why)): "the server's certificate is not trusted: \(why)"
        case .securityFailed(.certificateAuthorityFile(let why)): "the certificate authorities cannot be read: \(why)"
        case .timedOut(let timeout): "timed out (\(timeout.rawValue))"
        case .cancelled(.explicitly): "the request was cancelled"
        case .cancelled(.sessionShutDown): "the session was shut down"
        case .exchangeFailed(.send(let why)): "sending failed: \(why)"
        case .exchangeFailed(.receive(let why)): "receiving failed: \(why)"
        case .exchangeFailed(.connectionLost):
            "the connection was lost, and the request may have arrived, so it was not sent again"
        case .exchangeFailed(.http2(let why)): "HTTP/2 failed: \(why)"
        case .exchangeFailed(.http3(let why)): "HTTP/3 failed: \(why)"
        case .exchangeFailed(.flooded):
            "the server kept the connection busy without progress for more than 1 s of processor time"
        case .invalidResponse(.malformed(let why)): "the response is malformed: \(why)"
        case .invalidResponse(.headTooLarge(let limit)): "the response's head exceeds \(limit) bytes"
        case .invalidResponse(.bodyCutShort(let why)): "the response's body was cut short: \(why)"
        case .invalidResponse(.bodyTooLarge(let limit)): "the response's body exceeds \(limit) bytes"
        case .invalidResponse(.contentCoding(let why)): "the response's body cannot be decoded: \(why)"
        case .validationFailed(.status(let code)):
            "the status \(code)\(TrellisError.phrase(of: code).map { " (\($0))" } ?? "") is not accepted"
        case .validationFailed(.contentType(let type, let acceptable)):
            "\(type.map { "the content type \($0)" } ?? "a response without a content type") is not accepted, only "
                + acceptable.joined(separator: ", ")
        case .serializationFailed(.emptyBody(let type)):
            "the response has no body, and \(type) cannot be made of nothing"
        case .serializationFailed(.decoding(let type, let why)): "the response is no \(type): \(why)"
        case .serializationFailed(.text(let encoding)): "the response is no text in \(encoding)"
        case .serializationFailed(.format(let why)): "the response cannot be read: \(why)"
        case .serializationFailed(.element(let which, let type, let why)):
            "\(which) of the response is no \(type): \(why)"
        case .bodyFailed(.file(let path, let why)): "the file \(path) cannot be sent: \(why)"
        case .bodyFailed(.lengthMismatch(let promised, let given)):
            "the body's source promised \(promised) bytes and gave \(given)"
        case .bodyFailed(.sourceFailed): "the body's source failed"
        case .bodyFailed(.notReplayable): "the body would have had to be sent again, and cannot be"
        case .downloadFailed(.exists(let path)): "there is a file at \(path) already"
        case .downloadFailed(.file(let path, let why)): "the file \(path) cannot be written: \(why)"
        case .downloadFailed(.checksum(let name, let expected, let found)):
            "the file is not the one that was expected: its \(name) is \(found), not \(expected)"
        case .downloadFailed(.resumeData(let why)): "the resume data cannot be used: \(why)"
        case .redirectFailed(.tooMany(limit: ...0)): "there is a redirect, and none is followed"
        case .redirectFailed(.tooMany(let limit)): "there are more than \(limit) redirects in a row"
        case .redirectFailed(.loop(let url)): "the redirects lead to \(url) again and again"
        case .redirectFailed(.refused(let why)): "the redirect is refused: \(why)"
        case .limited(.rate(let host, let wait, let maximumWait)):
            "the rate limit of \(host) would hold the request up for \(wait.rounded), which is more than "
                + maximumWait.rounded
        case .limited(.circuitOpen(let host, let failures, let requests, let nextAttempt)):
            "the circuit to \(host) is open after \(failures) of \(requests) requests failed; "
                + (nextAttempt.map { "next attempt in \($0.rounded)" }
                    ?? "a request is under way to see whether it can be closed")
        case .unsupported(let what): "not supported by the running libcurl: \(what)"
        case .other(let what): what
        }
    }
}

extension TrellisError.Reason {
    /// The words say what the underlying error would say again.
    var tellsCause: Bool {
        switch self {
        case .serializationFailed, .invalidRequest(.parameters): true
        default: false
        }
    }
}
