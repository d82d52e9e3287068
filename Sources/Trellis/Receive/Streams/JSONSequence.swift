/// A body of JSON texts (RFC 7464, `application/json-seq`), each decoded.
///
/// Each text begins with a record separator (U+001E) and ends with a line feed, and is returned as soon as the line feed has been
/// received. A number, `true`, `false` or `null` that may be cut short, because no white space follows, is dropped, as section
/// 2.4 asks.
public struct JSONSequence<Value>: AsyncSequence, Sendable {
    /// The value of a text.
    public typealias Element = Value

    private let body: ResponseBody
    private let limit: Int
    private let decoder: ElementDecoder<Value>

    init(_ body: ResponseBody, limit: Int, _ decoder: ElementDecoder<Value>) {
        self.body = body
        self.limit = limit
        self.decoder = decoder
    }

    /// Returns an iterator that reads the body.
    public func makeAsyncIterator() -> Iterator {
        Iterator(BodyReader(JSONSequenceFramer(limit: limit), body), decoder)
    }

    /// The iterator over the values. A text that cannot be decoded is a ``TrellisError`` whose ``TrellisError/underlying`` is an
    /// ``UndecodableElement`` with the number of the text, or the error that the handler for such texts threw; a text above the
    /// limit is an error of kind ``TrellisError/Kind/bodyTooLarge``.
    public struct Iterator: BufferedIterator {
        /// The value of a text.
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
