/// A body of JSON texts (RFC 7464, `application/json-seq`), each decoded.
///
/// Each text begins with a record separator (U+001E) and ends with a line feed, and is handed out as soon as that has come.
/// A number, `true`, `false` or `null` that is cut short, because no white space follows it, is dropped as section 2.4 asks.
public struct JSONSequence<Value>: AsyncSequence, Sendable {
    /// What a text holds.
    public typealias Element = Value

    private let body: ResponseBody
    private let limit: Int
    private let decoder: ElementDecoder<Value>

    init(_ body: ResponseBody, limit: Int, _ decoder: ElementDecoder<Value>) {
        self.body = body
        self.limit = limit
        self.decoder = decoder
    }

    /// Reads the body.
    public func makeAsyncIterator() -> Iterator {
        Iterator(BodyReader(JSONSequenceFramer(limit: limit), body), decoder)
    }

    /// The reader of the values. A text that cannot be decoded is a ``TrellisError`` whose ``TrellisError/underlying`` is an
    /// ``UndecodableElement`` with the number of the text, or what the handler for those threw; one above the limit is an
    /// error of kind ``TrellisError/Kind/bodyTooLarge``.
    public struct Iterator: StagedIterator {
        /// What a text holds.
        public typealias Element = Value

        private var reader: BodyReader<JSONSequenceFramer>
        private let decoder: ElementDecoder<Value>

        fileprivate init(_ reader: BodyReader<JSONSequenceFramer>, _ decoder: ElementDecoder<Value>) {
            self.reader = reader
            self.decoder = decoder
        }

        @usableFromInline
        mutating func take() throws -> Value? { try reader.take(decoder) }

        @usableFromInline
        mutating func feed() async throws -> Bool { try await reader.feed() }
    }
}
