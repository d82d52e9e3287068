public import FoundationEssentials

extension ResponseBody {
    /// The body as pieces of UTF-8 text, as they are received. No piece ends within a code point.
    public var strings: StringSequence { StringSequence(self) }

    /// Returns the body as newline-delimited JSON: every line that is not blank, decoded.
    ///
    /// - Parameters:
    ///   - type: The type of the value on each line.
    ///   - decoder: The decoder: one with default settings unless given. Do not change the decoder while the body is read.
    ///   - maximumLength: The limit on the bytes of a line, 16 MiB unless given. A longer line is an error of kind
    ///     ``TrellisError/Kind/bodyTooLarge``.
    ///   - whenUndecodable: The handler for a line that cannot be decoded; with `nil`, such a line ends the stream with an error.
    public func jsonLines<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, decoder: JSONDecoder = JSONDecoder(),
        maximumLength: Int = LineSequence.maximumLineLength, whenUndecodable: UndecodableElementHandler? = nil
    ) -> JSONLineSequence<Value> {
        JSONLineSequence(self, limit: maximumLength, ElementDecoder(decoder, whenUndecodable: whenUndecodable))
    }

    /// Returns the body as newline-delimited JSON, or as another format with one value per line, each decoded by a closure. Use this
    /// if `JSONDecoder`, which takes some microseconds for a small object, is too slow.
    ///
    /// - Parameters:
    ///   - maximumLength: The limit on the bytes of a line, 16 MiB unless given. A longer line is an error of kind
    ///     ``TrellisError/Kind/bodyTooLarge``.
    ///   - whenUndecodable: The handler for a line that cannot be decoded; with `nil`, such a line ends the stream with an error.
    ///   - decode: A closure that makes a value of the bytes of a line that is not blank.
    public func jsonLines<Value>(
        maximumLength: Int = LineSequence.maximumLineLength, whenUndecodable: UndecodableElementHandler? = nil,
        decoding decode: @escaping @Sendable (Data) throws -> Value
    ) -> JSONLineSequence<Value> {
        JSONLineSequence(self, limit: maximumLength, ElementDecoder(whenUndecodable: whenUndecodable, decode))
    }

    /// Returns the body as a sequence of JSON texts (RFC 7464), decoded.
    ///
    /// - Parameters:
    ///   - type: The type of the value of each text.
    ///   - decoder: The decoder: one with default settings unless given. Do not change the decoder while the body is read.
    ///   - maximumLength: The limit on the bytes of a text, 16 MiB unless given. A longer text is an error of kind
    ///     ``TrellisError/Kind/bodyTooLarge``.
    ///   - whenUndecodable: The handler for a text that cannot be decoded; with `nil`, such a text ends the stream with an error.
    ///     RFC 7464, section 2.3, advises to continue: pass a closure that records the text.
    public func jsonSequence<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, decoder: JSONDecoder = JSONDecoder(),
        maximumLength: Int = LineSequence.maximumLineLength, whenUndecodable: UndecodableElementHandler? = nil
    ) -> JSONSequence<Value> {
        JSONSequence(self, limit: maximumLength, ElementDecoder(decoder, whenUndecodable: whenUndecodable))
    }

    /// The body as a stream of server-sent events.
    public var serverSentEvents: ServerSentEventSequence { serverSentEvents() }

    /// Returns the body as a stream of server-sent events.
    ///
    /// - Parameter maximumSize: The limit on the bytes of an event's data and of each line, 16 MiB unless given. A larger
    ///   event is an error of kind ``TrellisError/Kind/bodyTooLarge``.
    public func serverSentEvents(maximumSize: Int = ServerSentEventSequence.maximumEventSize) -> ServerSentEventSequence
    {
        ServerSentEventSequence(self, limit: maximumSize)
    }

    /// Returns the data of server-sent events, each decoded as JSON.
    ///
    /// - Parameters:
    ///   - type: The type of the value of each event, whatever the event's type is.
    ///   - terminator: The data of the event after which the stream has ended, `[DONE]` unless given; `nil` for none. A body that ends
    ///     without this event is no error.
    ///   - decoder: The decoder: one with default settings unless given. Do not change the decoder while the body is read.
    ///   - maximumSize: The limit on the bytes of an event's data and of each line, 16 MiB unless given. A larger event is an error of kind
    ///     ``TrellisError/Kind/bodyTooLarge``.
    ///   - whenUndecodable: The handler for an event that cannot be decoded; with `nil`, such an event ends the stream with an error.
    public func events<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self, until terminator: String? = "[DONE]", decoder: JSONDecoder = JSONDecoder(),
        maximumSize: Int = ServerSentEventSequence.maximumEventSize, whenUndecodable: UndecodableElementHandler? = nil
    ) -> DecodedEventSequence<Value> {
        DecodedEventSequence(
            self, limit: maximumSize, until: terminator, ElementDecoder(decoder, whenUndecodable: whenUndecodable))
    }

    /// Returns the parts of a multipart body.
    ///
    /// - Parameters:
    ///   - contentType: The `Content-Type` of the response, which names the boundary.
    ///   - maximumHeadSize: The limit on the head of a part in bytes, 16 KiB unless given.
    public func parts(
        contentType: String?, maximumHeadSize: Int = MultipartSequence.maximumPartHeadSize
    ) -> MultipartSequence { MultipartSequence(self, contentType: contentType, limit: maximumHeadSize) }
}
