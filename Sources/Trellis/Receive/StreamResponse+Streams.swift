public import FoundationEssentials

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
    /// ends, see ``Session/serverSentEvents(_:reconnecting:maximumEventSize:headers:timeouts:interceptor:onResponse:)``.
    public var serverSentEvents: ServerSentEventSequence { chunks.serverSentEvents }

    /// The parts of a multipart body, whose boundary is in the response's `Content-Type`.
    ///
    /// ```swift
    /// for try await part in try await session.stream("https://example.com/camera").parts {
    ///     show(try await part.body.collect(upTo: 1 << 20))
    /// }
    /// ```
    public var parts: MultipartSequence { chunks.parts(contentType: response.headers[.contentType]) }
}
