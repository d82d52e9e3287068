import FoundationEssentials
import HTTPTypes

extension RequestEvent: CustomStringConvertible {
    /// The event as one line of text without secrets, as a ``RequestLog`` writes it at the level ``RequestLog/Level/verbose``.
    public var description: String { logLine() }
}

/// The events as lines of a ``RequestLog``.
extension RequestEvent {
    /// Whether the event is the end of its call.
    var isEndOfCall: Bool {
        switch kind {
        case .finished, .failed: true
        default: false
        }
    }

    /// Whether the event tells of lost events.
    var isOfLoss: Bool { if case .eventsDropped = kind { true } else { false } }

    /// Whether the event tells of a failure of the cache or of the storage of cookies, which ends no call.
    var isOfStorageFailure: Bool {
        switch kind {
        case .cacheFailed, .cookiesFailed: true
        default: false
        }
    }

    /// Returns the event as one line of text, without secrets.
    ///
    /// - Parameters:
    ///   - hasHeaders: The line has the fields that are sent or were received, if the event has any.
    ///   - bodyLimit: The number of bytes of the body at the end of the line, if the event has one; 0 for none.
    func logLine(withHeaders hasHeaders: Bool = false, bodyLimit: Int = 0) -> String {
        let (words, error) = logWords
        if callID == 0 { return words }
        var line = "\(method.rawValue) \(url) \(words) \(elapsed.rounded)"
        if attempt > 1 { line += isEndOfCall ? ", \(attempt) attempts" : ", attempt \(attempt)" }
        line += " (call \(callID))"
        if let error { line += ": \(Self.text(of: error))" }
        if hasHeaders, let headers { line += " [\(headers.map(Self.text(of:)).joined(separator: ", "))]" }
        if bodyLimit > 0, let body = bodyText(upTo: bodyLimit) { line += ": \(body)" }
        return line.inOneLine
    }

    /// The fields of the request that is sent or of the head that was received.
    private var headers: HTTPFields? {
        switch kind {
        case .queued(let request): request.headers
        case .head(let head), .informational(let head): head.headers
        default: nil
        }
    }

    /// Returns a field as `Name: value`, without its secret.
    private static func text(of field: HTTPField) -> String { "\(field.name): \(SecretFields.redacted(field))" }

    /// The kind in words, and the error that belongs to it.
    private var logWords: (String, (any Error)?) {
        switch kind {
        case .created: ("created", nil)
        case .resumed: ("resumed", nil)
        case .suspended: ("suspended", nil)
        case .adapted(let request): ("adapted\(asked(request))", nil)
        case .upgraded(let request): ("upgraded to https by HSTS\(asked(request))", nil)
        case .alternativeSelected(let service): ("sent to \(service)", nil)
        case .alternativeFailed(let service, let error): ("not served by \(service)", error)
        case .endpointSelected(let endpoint): ("to the endpoint \(endpoint)", nil)
        case .endpointEjected(let endpoint, let time): ("endpoint \(endpoint) ejected for \(time.rounded)", nil)
        case .endpointReturned(let endpoint): ("endpoint \(endpoint) returned", nil)
        case .proxySelected(let decision): ("\(decision)", nil)
        case .trustFilesChanged(let paths, let error):
            ("\(error == nil ? "uses" : "does not use") the new contents of \(paths.joined(separator: ", "))", error)
        case .queued(let request): ("queued\(asked(request))", nil)
        case .admitted: ("admitted", nil)
        case .lookingUp(let host): ("looking up \(host)", nil)
        case .lookedUp(let host): ("looked up \(host)", nil)
        case .connecting(let address): ("connecting to \(address)", nil)
        case .egressRefused(let refusal): ("refused by the egress policy: \(refusal)", nil)
        case .handshaking(let host): ("TLS handshake with \(host)", nil)
        case .connectionAdded(let number, let limit):
            ("connection \(number) added, because the others carry \(limit) requests each", nil)
        case .serverTrustReported(let report): ("\(report)", nil)
        case .evaluatingServerTrust(let trust): ("evaluating the certificates of \(trust.host)", nil)
        case .serverTrustEvaluated(let trust, let error):
            ("\(error == nil ? "trusts" : "does not trust") \(trust.map { $0.host } ?? "the server")", error)
        case .connected(let connection): ("\(connection)", nil)
        case .requestHeadSent: ("request head sent", nil)
        case .requestSent(let size): (size == 0 ? "request sent" : "request sent with a body of \(size) bytes", nil)
        case .informational(let head): ("informational \(head.status.code)", nil)
        case .head(let head): ("head \(head.status.code)", nil)
        case .exchangeEnded(_, let error): ("exchange ended", error)
        case .redirected(let redirect): ("redirected \(redirect)", nil)
        case .retrying(let delay, let error): ("retrying in \(delay.rounded)", error)
        case .rateLimited(let host, let wait): ("limited by \(host) for \(wait.rounded)", nil)
        case .concurrencyLimited(let host, let limit): ("waiting for one of \(limit) requests to \(host)", nil)
        case .concurrencyReduced(let host, let limit, let pause):
            ("limit of \(host) reduced to \(limit)\(pause.map { ", paused for \($0.rounded)" } ?? "")", nil)
        case .circuitOpened(let host, let time): ("circuit of \(host) opened for \(time.rounded)", nil)
        case .circuitClosed(let host): ("circuit of \(host) closed", nil)
        case .hedging(let delay): ("hedging after \(delay.rounded)", nil)
        case .coalesced(let other): ("coalesced with call \(other)", nil)
        case .cacheUsed(let status): ("cache: \(status)", nil)
        case .cacheFailed(let error): ("cache failed", error)
        case .cookiesFailed(let error): ("cookies failed", error)
        case .bodyReceived(_, let size, _): ("body of \(size) \(size == 1 ? "byte" : "bytes")", nil)
        case .finished(let response): ("\(response.status.code)", nil)
        case .validated(let error): (error == nil ? "accepted" : "refused", error)
        case .serialized(let time, let error): ("\(error == nil ? "read" : "not read") in \(time.rounded)", error)
        case .downloadContinued(let offset): ("download continued at byte \(offset)", nil)
        case .fileMoved(let partial, let destination): ("moved \(partial) to \(destination)", nil)
        case .failed(let error): Self.end(of: error)
        case .eventsDropped(let count):
            ("lost \(count) \(count == 1 ? "event" : "events"), because this log was too slow", nil)
        }
    }

    /// Returns the words for a call without a response, and the error, unless the words say it all.
    private static func end(of error: any Error) -> (String, (any Error)?) {
        if error is CancellationError { return ("cancelled", nil) }
        switch (error as? TrellisError)?.reason {
        case .cancelled(.explicitly)?: return ("cancelled", nil)
        case .cancelled?: return ("cancelled", error)
        default: return ("failed", error)
        }
    }

    /// Returns the method and URL of a request, if they are not the call's.
    private func asked(_ request: Request) -> String {
        let url = URLRedaction.redact(request.url)
        return request.method == method && url == self.url ? "" : " as \(request.method.rawValue) \(url)"
    }

    /// Returns an error in words, without the request that the line names already, and without a body.
    private static func text(of error: any Error) -> String {
        guard var error = error as? TrellisError else { return "\(error)" }
        (error.method, error.url) = (nil, nil)
        return "\(withoutBody(error))"
    }

    /// Returns an error without the bodies that it and its causes hold.
    package static func withoutBody(_ error: any Error) -> any Error {
        guard var error = error as? TrellisError else { return error }
        error.bodyExcerpt = nil
        error.underlying = error.underlying.map(withoutBody)
        return error
    }
}

extension String {
    /// The text with its control characters and line separators escaped.
    fileprivate var inOneLine: String {
        var line = ""
        for scalar in unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: line += scalar.escaped(asASCII: true)
            default: line.unicodeScalars.append(scalar)
            }
        }
        return line
    }
}

// MARK: Bodies

extension RequestEvent {
    /// Returns the beginning of the body that is sent or was received, without its secrets; `nil` if the event has none.
    fileprivate func bodyText(upTo limit: Int) -> String? {
        switch kind {
        case .bodyReceived(let bytes, let size, let type):
            bytes.isEmpty ? nil : Self.text(of: bytes, size: size, type: type, limit: limit)
        case .queued(let request): request.body.flatMap { Self.text(of: $0, request.headers, limit: limit) }
        default: nil
        }
    }

    private static func text(of body: RequestBody, _ headers: HTTPFields, limit: Int) -> String? {
        switch body.source {
        case .data(let data):
            if data.isEmpty { return nil }
            if headers.contains(.contentEncoding) { return "\(data.count) coded bytes" }
            return text(of: data, size: data.count, type: headers[.contentType] ?? body.contentType ?? "", limit: limit)
        case .file(let path): return "the file \(path)"
        case .stream: return "a stream"
        case .multipart: return "a form"
        }
    }

    private static func text(of bytes: Data, size: Int, type: String, limit: Int) -> String {
        let kept = CapturedBody.beginning(of: bytes, limit: limit)
        let (redacted, remark) = BodyRedaction.redacted(kept, type: type)
        guard let text = String(validating: redacted, as: UTF8.self), !redacted.contains(0) else {
            return "\(size) bytes that are not text"
        }
        return text + (kept.count < size || remark != nil ? "…" : "")
    }
}
