public import FoundationEssentials

/// A response whose body is received as it is read.
///
/// Read the body once, in one of its forms: a second reading is an error of kind ``TrellisError/Kind/other``. Leaving the loop over the
/// body ends the transfer, and so does dropping the response before its body is read.
public struct StreamResponse: Sendable {
    /// The response up to its head, with metrics up to the head and without trailers.
    public let response: Response
    private let token: TransferToken
    /// The source of the body.
    package var source: any ChunkSource { token.source }

    /// The request that was answered.
    package let sent: any SentRequest

    init(_ response: Response, token: TransferToken, to sent: any SentRequest) {
        self.response = response
        self.token = token
        self.sent = sent
    }

    /// The body in chunks.
    public var chunks: ResponseBody { ResponseBody(token, of: response) }

    /// The body as a sequence of bytes.
    public var bytes: ByteSequence { chunks.bytes }

    /// The lines of the body as UTF-8.
    public var lines: LineSequence { chunks.lines }

    /// Returns the response with its trailers and with metrics up to the end. The unread rest of the body is read and dropped.
    ///
    /// - Throws: ``TrellisError`` if the body does not reach its end, and of kind ``TrellisError/Kind/other`` if a reader has left it
    ///   before; `CancellationError` in a cancelled task.
    public func finalResponse() async throws -> Response {
        do {
            let final = try await source.finalResponse()
            token.end(.complete)
            return final
        } catch is CancellationError where !Task.isCancelled {
            throw source.completed(token.errorOfCancelledTransfer, reading: response)
        }
    }

    /// Ends the transfer; its reader gets an error of kind ``TrellisError/Kind/cancelled``.
    public func cancel() { token.source.cancel(explicitly: true) }

    /// Ends the transfer of a response that is not accepted.
    func breakOff() { token.breakOff() }
}

/// The forms in which a ``ResponseBody`` can be read, with their default limits. For other limits, use ``chunks``.
extension StreamResponse {
    /// The body as pieces of UTF-8 text, as they are received. No piece ends within a code point.
    public var strings: StringSequence { chunks.strings }

    /// Returns the lines of the body as UTF-8.
    ///
    /// - Parameters:
    ///   - ends: The line ends: LF, CRLF and CR unless given.
    ///   - maximumLength: The limit on the bytes of a line, 16 MiB unless given.
    public func lines(
        endingAt ends: LineEnding = .standard, maximumLength: Int = LineSequence.maximumLineLength
    ) -> LineSequence { chunks.lines(endingAt: ends, maximumLength: maximumLength) }

    /// Returns the body as newline-delimited JSON: every line that is not blank, decoded.
    ///
    /// ```swift
    /// for try await entry in try await session.stream("https://example.com/log").jsonLines(of: LogEntry.self) { … }
    /// ```
    ///
    /// For the other settings, see ``ResponseBody/jsonLines(of:decoder:maximumLength:whenUndecodable:)``.
    public func jsonLines<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, decoder: JSONDecoder = JSONDecoder()
    ) -> JSONLineSequence<Value> { chunks.jsonLines(of: type, decoder: decoder) }

    /// Returns the body as a sequence of JSON texts (RFC 7464), decoded.
    ///
    /// For the other settings, see ``ResponseBody/jsonSequence(of:decoder:maximumLength:whenUndecodable:)``.
    public func jsonSequence<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, decoder: JSONDecoder = JSONDecoder()
    ) -> JSONSequence<Value> { chunks.jsonSequence(of: type, decoder: decoder) }

    /// The body as a stream of server-sent events. The stream ends with the body; for a stream that is opened again whenever it
    /// ends, see ``EventSource``.
    public var serverSentEvents: ServerSentEventSequence { chunks.serverSentEvents }

    /// Returns the data of server-sent events, each decoded as JSON, up to the event with which language models end their responses.
    ///
    /// ```swift
    /// for try await delta in try await session.stream(chat).validate().events(of: Delta.self) {
    ///     print(delta.text, terminator: "")
    /// }
    /// ```
    ///
    /// For the other settings, see ``ResponseBody/events(of:until:decoder:maximumSize:whenUndecodable:)``.
    ///
    /// - Parameters:
    ///   - type: The type of the value of each event, whatever the event's type is.
    ///   - terminator: The data of the event after which the stream has ended, `[DONE]` unless given; `nil` for none. A body that ends
    ///     without this event is no error.
    ///   - decoder: The decoder: one with default settings unless given. Do not change the decoder while the body is read.
    public func events<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, until terminator: String? = "[DONE]", decoder: JSONDecoder = JSONDecoder()
    ) -> DecodedEventSequence<Value> { chunks.events(of: type, until: terminator, decoder: decoder) }

    /// The parts of a multipart body, whose boundary is in the response's `Content-Type`.
    ///
    /// ```swift
    /// for try await part in try await session.stream("https://example.com/camera").parts {
    ///     show(try await part.body.collect(upTo: 1 << 20))
    /// }
    /// ```
    public var parts: MultipartSequence { chunks.parts(contentType: response.headers[.contentType]) }
}
