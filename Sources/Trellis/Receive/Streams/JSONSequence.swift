import FoundationEssentials

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
        Iterator(reader: BodyReader(JSONSequenceFramer(limit: limit), body), decoder: decoder)
    }

    /// The reader of the values.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var reader: BodyReader<JSONSequenceFramer>
        fileprivate let decoder: ElementDecoder<Value>

        /// The next value, `nil` at the end.
        ///
        /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/serialization``, whose ``TrellisError/underlying`` is an
        ///   ``UndecodableElement`` with the number of the text, or what the handler for those threw; of kind ``TrellisError/Kind/bodyTooLarge`` for a text above the
        ///   limit; and as ``ResponseBody/Iterator/next()``.
        public mutating func next() async throws -> Value? {
            while let element = try await reader.next() {
                do {
                    if let value = try decoder.decode(element) { return value }
                } catch {
                    reader.close()
                    throw error
                }
            }
            return nil
        }
    }
}
