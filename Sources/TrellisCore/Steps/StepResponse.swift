public import FoundationEssentials
public import HTTPTypes

/// A response on its way back through the steps: its head, and its body in memory or still to be received.
public struct StepResponse: Sendable {
    /// The body of a response.
    package enum Content: Sendable {
        /// The complete body.
        case data(Data)
        /// A body that is still to be received.
        case source(TransferToken)
    }

    /// The properties behind one reference, because a response is passed through the frame of every function around it.
    private final class Storage: Sendable {
        let response: Response
        let content: Content
        let validationResult: ValidationResult?
        let sent: any SentRequest

        init(
            response: Response, content: Content, validationResult: ValidationResult?, sent: any SentRequest
        ) {
            self.response = response
            self.content = content
            self.validationResult = validationResult
            self.sent = sent
        }
    }

    private var storage: Storage

    /// The response.
    public var response: Response { storage.response }
    /// The body.
    package var content: Content { storage.content }
    /// The result of the validation by the reader's conditions; `nil` if the response was not validated.
    var validationResult: ValidationResult? {
        get { storage.validationResult }
        set { storage = Storage(response: response, content: content, validationResult: newValue, sent: sent) }
    }
    /// The request that was answered.
    package var sent: any SentRequest { storage.sent }

    /// Creates the response to a request that was sent.
    package init(response: Response, content: Content, to sent: any SentRequest) {
        storage = Storage(response: response, content: content, validationResult: nil, sent: sent)
    }

    /// Creates a response with a body in memory, for a step that changes a response or makes its own.
    public init(response: Response, body: Data) {
        self.init(response: response, content: .data(body), to: MadeRequest(Request(response.url)))
    }

    /// Creates a step's own response to a request.
    ///
    /// - Parameters:
    ///   - request: The request that gets the response.
    ///   - status: The status.
    ///   - headers: The fields; none by default.
    ///   - body: The body; empty by default.
    public init(
        to request: Request, status: HTTPResponse.Status, headers: HTTPFields = HTTPFields(), body: Data = Data()
    ) {
        let head = ResponseHead(status: status, headers: headers)
        let response = Response(head: head, url: request.url, to: AnsweredRequest(request))
        self.init(response: response, content: .data(body), to: MadeRequest(request))
    }

    /// The body in chunks, which can be read once. For `session.data` and its like the
    /// body is already in memory, for `session.stream` it arrives as it is read: a step that
    /// reads it must return a new response.
    public var body: ResponseBody { ResponseBody(reader, of: response) }

    /// The body, if it is in memory; `nil` if the body is still to be received.
    public var data: Data? { if case .data(let data) = content { data } else { nil } }

    /// Returns a copy with another response and body to the same request.
    package func replacing(_ response: Response, _ content: Content) -> StepResponse {
        var copy = self
        copy.storage = Storage(response: response, content: content, validationResult: validationResult, sent: sent)
        return copy
    }

    /// Returns the response as the answer to the last request of its attempt, if a step has made it.
    func answering(_ last: LastRequest) -> StepResponse {
        guard sent is MadeRequest else { return self }
        var copy = self
        copy.storage = Storage(
            response: response, content: content, validationResult: validationResult, sent: last.value)
        return copy
    }

    /// Returns the complete body, read to its end if it is still to be received.
    func wholeBody() async throws -> Data {
        if let data { return data }
        return try await body.collect(upTo: .max)
    }

    /// The token for the one reader of the body.
    var reader: TransferToken {
        switch content {
        case .source(let token): token
        case .data(let data): TransferToken(DataSource(data, response: response))
        }
    }
}

extension StepResponse {
    /// The number of bytes of an unwanted body that are read so that its connection can be kept.
    private static let discardLimit = 64 << 10
    /// The time in which these bytes have to arrive.
    private static let discardTimeout = Duration.seconds(1)

    /// Ends the transfer of an unwanted body. A short body that arrives at once is read, so that its connection can be kept; any
    /// other body is cut off, so that a slow or long one neither delays the call nor keeps its connection slot.
    package func discard(_ context: CallContext) async {
        guard case .source(let token) = content else { return }
        defer { token.source.cancel(explicitly: false) }
        let length = response.headers[.contentLength].flatMap { Int($0) } ?? 0
        guard length <= Self.discardLimit else { return }
        _ = try? await context.result(within: Self.discardTimeout) {
            var remaining = Self.discardLimit
            while remaining > 0, let chunk = try await token.source.next() { remaining -= chunk.count }
        }
    }
}

extension StreamResponse {
    init(_ answer: StepResponse) { self.init(answer.response, token: answer.reader, to: answer.sent) }
}

extension Answer {
    /// Creates the answer of a call for its reader.
    init(_ answer: StepResponse, _ body: Data, observer: (any ReadingObserver)?) {
        self.init(
            to: answer.sent, response: answer.response, body: body, observer: observer,
            validationResult: answer.validationResult)
    }
}
