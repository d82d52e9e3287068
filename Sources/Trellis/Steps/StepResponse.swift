public import FoundationEssentials
public import HTTPTypes

/// An answer on its way back through the steps: its head, and its body in memory or still to come.
public struct StepResponse: Sendable {
    enum Content: Sendable {
        case data(Data)
        case source(ReaderToken)
    }

    /// The response.
    public let response: Response
    let content: Content
    /// What the attempt that brought it was judged to be.
    var verdict: Verdict?

    init(response: Response, content: Content) {
        self.response = response
        self.content = content
    }

    /// An answer with a body in memory: that of a step which answers itself, or changes what came.
    public init(response: Response, body: Data) { self.init(response: response, content: .data(body)) }

    /// An answer of a step's own.
    public init(
        to request: Request, status: HTTPResponse.Status, headers: HTTPFields = [:], body: Data = Data()
    ) {
        let head = ResponseHead(status: status, headers: headers)
        self.init(response: Response(head: head, url: request.url), body: body)
    }

    /// The body in chunks, to be read once. For ``Session/data(_:)`` and its like it is in memory already, for
    /// ``Session/stream(_:)`` it comes as it is read: whoever reads it in a step hands on an answer of its own making.
    public var body: ResponseBody { ResponseBody(reader) }

    /// The body, where it is in memory; `nil` where it is still to come.
    public var data: Data? { if case .data(let data) = content { data } else { nil } }

    /// The body, read to its end where it is still to come.
    func wholeBody() async throws -> Data {
        if let data { return data }
        return try await body.collect(upTo: .max)
    }

    var reader: ReaderToken {
        switch content {
        case .source(let token): token
        case .data(let data): ReaderToken(DataSource(data, response: response))
        }
    }
}

extension StepResponse {
    /// The bytes of an unwanted body that are read so that its connection can be kept.
    private static let discardLimit = 64 << 10
    /// The time in which they have to come.
    private static let discardPatience = Duration.seconds(1)

    /// Ends the transfer of a body that nobody wants. A short body that comes at once is read, so that its connection can be kept;
    /// any other is cut off, so that a slow or long one neither holds the call up nor keeps its connection slot.
    func discard(_ context: CallContext) async {
        guard case .source(let token) = content else { return }
        defer { token.source.cancel(explicitly: false) }
        let length = response.headers[.contentLength].flatMap { Int($0) } ?? 0
        guard length <= Self.discardLimit else { return }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                var remaining = Self.discardLimit
                while remaining > 0, let chunk = try? await token.source.next() { remaining -= chunk.count }
            }
            group.addTask { try? await context.wait(for: Self.discardPatience) }
            await group.next()
            group.cancelAll()
        }
    }
}

extension StreamResponse {
    init(_ answer: StepResponse) { self.init(answer.response, token: answer.reader) }
}
