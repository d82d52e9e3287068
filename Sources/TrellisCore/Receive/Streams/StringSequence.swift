import CurlEngine
import FoundationEssentials

/// A body as pieces of UTF-8 text, as they are received.
///
/// A piece never ends within a code point: the pieces together are the text, however the network cut the body. Bytes that are not
/// UTF-8 become U+FFFD, as they would in the complete text. A character on the screen may still be cut, if the character has
/// more than one code point. A piece is as long as the bytes that have been received, up to 256 KiB.
public struct StringSequence: AsyncSequence, Sendable {
    /// A piece of the text, never empty.
    public typealias Element = String

    private let body: ResponseBody

    init(_ body: ResponseBody) { self.body = body }

    /// Returns an iterator that reads the body.
    public func makeAsyncIterator() -> Iterator { Iterator(BodyReader(StringJoiner(), body)) }

    /// The iterator over the pieces.
    public struct Iterator: BufferedIterator {
        /// A piece of the text, never empty.
        public typealias Element = String

        private var reader: BodyReader<StringJoiner>

        fileprivate init(_ reader: BodyReader<StringJoiner>) { self.reader = reader }

        @usableFromInline
        mutating func take() throws -> String? { try reader.take() }

        @usableFromInline
        mutating func feed() async throws -> Bool { try await reader.feed() }
    }
}

/// A parser that makes text of bytes that may be cut within a code point.
struct StringJoiner: IncrementalParser {
    private var chunk = Data()
    /// The beginning of a code point that the last chunk ended within, at most three bytes.
    private var tail: [UInt8] = []

    mutating func append(_ chunk: Data) { self.chunk = chunk }

    mutating func next() -> String? {
        guard !chunk.isEmpty else { return nil }
        defer { chunk = Data() }
        var whole = chunk
        if !tail.isEmpty { whole = Data(tail) + chunk }
        let bytes = whole.span
        let length = bytes.count - UTF8Tail.length(of: bytes)
        tail = [UInt8](copying: bytes.extracting(last: bytes.count - length))
        return length > 0 ? String(utf8: bytes.extracting(first: length)) : nil
    }

    mutating func finish() -> String? {
        defer { tail = [] }
        return tail.isEmpty ? nil : String(decoding: tail, as: UTF8.self)
    }
}
