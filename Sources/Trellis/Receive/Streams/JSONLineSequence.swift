import CurlEngine
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
        Iterator(reader: BodyReader(JSONLineFramer(limit: limit), body), decoder: decoder)
    }

    /// The reader of the values.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var reader: BodyReader<JSONLineFramer>
        fileprivate let decoder: ElementDecoder<Value>

        /// The next value, `nil` at the end.
        ///
        /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/serialization``, whose ``TrellisError/underlying`` is an
        ///   ``UndecodableElement`` with the number of the line, or what the handler for those threw; as ``LineSequence/Iterator/next()``.
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

/// Finds the lines that are not blank, however the body is cut into chunks.
struct JSONLineFramer: BodyMachine {
    private var splitter: LineSplitter
    private var number = 0

    init(limit: Int) { splitter = LineSplitter(endingAt: .lineFeed, limit: limit) }

    mutating func append(_ chunk: Data) { splitter.append(chunk) }

    mutating func fill(_ lines: inout [RawElement]) throws {
        while lines.count < 6 {
            let line = try splitter.next { $0.isBlankJSON ? Data() : Data(copying: $0) }
            guard let line else { return }
            take(line, &lines)
        }
    }

    mutating func finish(_ lines: inout [RawElement]) throws {
        guard let line = try splitter.finish() else { return }
        take(line.span.isBlankJSON ? Data() : Data(line), &lines)
    }

    private mutating func take(_ line: Data, _ lines: inout [RawElement]) {
        number += 1
        if !line.isEmpty { lines.append(RawElement(unit: .line, number: number, bytes: line)) }
    }
}
