import FoundationEssentials

/// A body of newline-delimited JSON (NDJSON, JSON Lines), each line decoded. Lines that are blank are left out.
///
/// Lines end with LF, and CRLF as well, because white space around a value is no part of it. Values are decoded when they
/// are asked for, in the reader's task.
public struct JSONLineSequence<Value>: AsyncSequence, Sendable {
    /// What a line holds.
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
        Iterator(reader: BodyReader(JSONLineDecoder(limit: limit, decoder), body))
    }

    /// The reader of the values.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var reader: BodyReader<JSONLineDecoder<Value>>

        /// The next value, `nil` at the end.
        ///
        /// - Throws: ``TrellisError`` whose ``TrellisError/underlying`` is an ``UndecodableElement`` with the number of the
        ///   line, or what the handler for those threw; as ``LineSequence/Iterator/next()``.
        public mutating func next() async throws -> Value? { try await reader.next() }
    }
}

/// Decodes lines, however the body is cut into chunks.
struct JSONLineDecoder<Value>: BodyMachine {
    private var splitter: LineSplitter
    private var number = 0
    private let decoder: ElementDecoder<Value>

    init(limit: Int, _ decoder: ElementDecoder<Value>) {
        splitter = LineSplitter(endingAt: .lineFeed, limit: limit)
        self.decoder = decoder
    }

    mutating func append(_ chunk: Data) { splitter.append(chunk) }

    mutating func fill(_ values: inout [Value]) throws {
        // One at a time: to decode costs far more than to be asked.
        while values.isEmpty {
            let number = number + 1
            let line = try splitter.next { line in Result { try Self.decode(line, number, decoder) } }
            guard let line else { return }
            self.number = number
            if let value = try line.get() { values.append(value) }
        }
    }

    mutating func finish(_ values: inout [Value]) throws {
        guard let line = try splitter.finish() else { return }
        if let value = try Self.decode(line.span, number + 1, decoder) { values.append(value) }
    }

    private static func decode(_ line: Span<UInt8>, _ number: Int, _ decoder: ElementDecoder<Value>) throws
        -> Value?
    {
        line.isBlankJSON ? nil : try decoder.decode(line, .line, number: number)
    }
}
