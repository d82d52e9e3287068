public import FoundationEssentials

/// What ``ResponseBody`` can be read as, with the limits that it has unless others are given there: ``chunks``.
extension StreamResponse {
    /// The body as pieces of text, as they come, in UTF-8, none of them cut within a code point.
    public var strings: StringSequence { chunks.strings }

    /// The body line by line, as UTF-8.
    ///
    /// - Parameters:
    ///   - ends: What ends a line: LF, CRLF and CR unless given.
    ///   - maximumLength: The limit on the bytes of a line, 16 MiB unless given.
    public func lines(
        endingAt ends: LineEnds = .standard, maximumLength: Int = LineSequence.maximumLineLength
    ) -> LineSequence { chunks.lines(endingAt: ends, maximumLength: maximumLength) }

    /// The body as newline-delimited JSON: every line that is not blank, decoded.
    ///
    /// ```swift
    /// for try await entry in try await session.stream("https://example.com/log").jsonLines(of: LogEntry.self) { … }
    /// ```
    ///
    /// As ``ResponseBody/jsonLines(of:decoder:maximumLength:whenUndecodable:)``, where the other settings are.
    public func jsonLines<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, decoder: JSONDecoder = JSONDecoder()
    ) -> JSONLineSequence<Value> { chunks.jsonLines(of: type, decoder: decoder) }

    /// The body as a sequence of JSON texts (RFC 7464), decoded.
    ///
    /// As ``ResponseBody/jsonSequence(of:decoder:maximumLength:whenUndecodable:)``, where the other settings are.
    public func jsonSequence<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, decoder: JSONDecoder = JSONDecoder()
    ) -> JSONSequence<Value> { chunks.jsonSequence(of: type, decoder: decoder) }

    /// The body as a stream of server-sent events. It ends with the body; for a stream that is opened again whenever it
    /// ends, see ``Session/events(from:reconnecting:)``.
    public var events: ServerSentEventSequence { chunks.events }

    /// The parts of a multipart body, whose boundary is in the response's `Content-Type`.
    ///
    /// ```swift
    /// for try await part in try await session.stream("https://example.com/camera").parts {
    ///     show(try await part.body.collect(upTo: 1 << 20))
    /// }
    /// ```
    public var parts: MultipartSequence { chunks.parts(contentType: head.headerFields[.contentType]) }
}
