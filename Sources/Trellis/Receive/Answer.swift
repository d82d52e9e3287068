package import FoundationEssentials

/// A request and what came back for it: what validators and serializers look at.
package struct Answer: Sendable {
    /// The request as it was sent, with its session's defaults.
    package let request: Request
    package let response: Response
    /// The whole body; `nil` while it is still to come.
    package let body: Data?
    /// Receives what readers make of the answer.
    var observer: (any ReadingObserver)?
    /// What the attempt that brought it was judged to be.
    var verdict: Verdict?

    package init(request: Request, response: Response, body: Data?) {
        self.request = request
        self.response = response
        self.body = body
    }

    /// Body and response, of an answer that has come whole.
    package var pair: (Data, Response) { (body ?? Data(), response) }

    /// Whether there is nothing in the body, as far as one can tell.
    var hasNoContent: Bool {
        if let body { return body.isEmpty }
        // Statuses and methods without content: RFC 9110, section 6.4.1.
        return request.method == .head || [204, 205, 304].contains(response.status.code)
            || response.headerFields[.contentLength] == "0"
    }

    /// Checks that the body is whole: of an answer that all its readers refused, only the beginning was read.
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/truncatedBody`` to a reader that came later and accepts the answer.
    func requireWholeBody() throws {
        guard response.isBodyCut else { return }
        throw error(
            .invalidResponse(
                .bodyCutShort("only its beginning was read, because another reader of the request refused the response")
            ))
    }

    /// An error about this answer, with what a person needs to understand it.
    func error(_ reason: TrellisError.Reason, underlying: (any Error)? = nil) -> TrellisError {
        var error = TrellisError(
            reason, method: request.method, url: response.url, phase: body == nil ? .receiving : .answered,
            metrics: response.metrics, underlying: underlying)
        error.response = response
        error.bodyExcerpt = body.map { TrellisError.BodyExcerpt($0) }
        return error
    }
}
