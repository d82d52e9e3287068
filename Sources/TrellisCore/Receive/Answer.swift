import CurlEngine
package import FoundationEssentials
import HTTPTypes

/// A request and its response, as validators and serializers receive them.
package struct Answer: Sendable {
    /// The properties behind one reference, because an answer is passed through the frame of every function that reads it.
    private final class Storage: Sendable {
        let sent: any SentRequest
        let response: Response
        let body: Data?
        let observer: (any ReadingObserver)?
        let validationResult: ValidationResult?
        /// The request with its default fields, made when it is first read.
        private let whole = LazyReference<MadeRequest>()

        var request: Request { (whole.load() ?? whole.storeIfNil(MadeRequest(sent.sentRequest))).sentRequest }

        init(
            _ sent: any SentRequest, response: Response, body: Data?, observer: (any ReadingObserver)?,
            validationResult: ValidationResult?
        ) {
            self.sent = sent
            self.response = response
            self.body = body
            self.observer = observer
            self.validationResult = validationResult
        }
    }

    private let storage: Storage

    /// The request as it was sent, with its session's defaults.
    package var request: Request { storage.request }
    /// The response.
    package var response: Response { storage.response }
    /// The complete body; `nil` if the body has not been received.
    package var body: Data? { storage.body }
    /// The observer of the validations and serializations of the response.
    var observer: (any ReadingObserver)? { storage.observer }
    /// The validation result of the attempt that received the response; `nil` if the attempt was not validated.
    var validationResult: ValidationResult? { storage.validationResult }

    /// Creates an answer that nothing observes.
    package init(request: Request, response: Response, body: Data?) {
        self.init(to: MadeRequest(request), response: response, body: body, observer: nil)
    }

    init(
        to sent: any SentRequest, response: Response, body: Data?, observer: (any ReadingObserver)?,
        validationResult: ValidationResult? = nil
    ) {
        storage = Storage(
            sent, response: response, body: body, observer: observer, validationResult: validationResult)
    }

    /// The body and the response, for a response whose body has been received.
    package var pair: (Data, Response) { (body ?? Data(), response) }

    /// Whether the body is empty or, before it has been received, the head announces no content.
    var hasNoContent: Bool { response.hasNoContent(body, after: request.method) }

    /// Checks that the body is complete: if all readers of a response refused its head, only the beginning of the body was read.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/truncatedBody`` to a later reader that accepts the response.
    func requireWholeBody() throws {
        guard response.isBodyCut else { return }
        throw error(
            .invalidResponse(
                .bodyCutShort("only its beginning was read, because another reader of the request refused the response")
            ))
    }

    /// Returns an error about this response, with the response and the beginning of the body.
    package func error(_ reason: TrellisError.Reason, underlying: (any Error)? = nil) -> TrellisError {
        response.error(
            reason, body, to: request.method, phase: body == nil ? .receiving : .received, underlying: underlying)
    }
}

extension Response {
    /// Returns whether the body is empty or, without a body at hand, the head announces no content.
    func hasNoContent(_ body: Data?, after method: HTTPRequest.Method) -> Bool {
        if let body { return body.isEmpty }
        // A 205 has no content, but its framing may be an empty body's (RFC 9110, section 15.3.6).
        return status.hasNoBody(after: method) || status.code == 205 || headers[.contentLength] == "0"
    }

    /// Returns an error about this response, with the response and the beginning of the body.
    func error(
        _ reason: TrellisError.Reason, _ body: Data?, to method: HTTPRequest.Method?, phase: TrellisError.Phase,
        underlying: (any Error)? = nil
    ) -> TrellisError {
        var error = TrellisError(
            reason, method: method, url: url, phase: phase, metrics: metrics, underlying: underlying)
        error.response = self
        error.bodyExcerpt = body.map { TrellisError.BodyExcerpt($0) }
        return error
    }
}
