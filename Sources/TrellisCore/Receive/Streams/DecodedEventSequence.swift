import CurlEngine
import FoundationEssentials

/// The data of a stream's server-sent events, each decoded as JSON: see ``StreamResponse/events(of:until:decoder:)``.
public struct DecodedEventSequence<Value: Sendable>: AsyncSequence, Sendable {
    /// The value of an event.
    public typealias Element = Value

    private let body: ResponseBody
    private let limit: Int
    private let terminator: String?
    private let decoder: ElementDecoder<Value>

    init(_ body: ResponseBody, limit: Int, until terminator: String?, _ decoder: ElementDecoder<Value>) {
        self.body = body
        self.limit = limit
        self.terminator = terminator
        self.decoder = decoder
    }

    /// Returns an iterator that reads the body.
    public func makeAsyncIterator() -> Iterator {
        Iterator(BodyReader(EventFramer(limit: limit, until: terminator), body), decoder)
    }

    /// The iterator over the values. An event that cannot be decoded is a ``TrellisError`` whose ``TrellisError/underlying`` is an
    /// ``UndecodableElement`` with the number of the event, or the error that the handler for such events threw; an event above the limit
    /// is an error of kind ``TrellisError/Kind/bodyTooLarge``.
    public struct Iterator: BufferedIterator {
        /// The value of an event.
        public typealias Element = Value

        private var reader: BodyReader<EventFramer>
        private let decoder: ElementDecoder<Value>

        fileprivate init(_ reader: BodyReader<EventFramer>, _ decoder: ElementDecoder<Value>) {
            self.reader = reader
            self.decoder = decoder
        }

        @usableFromInline
        mutating func take() throws -> Value? { try reader.take(decoder) }

        @usableFromInline
        mutating func feed() async throws -> Bool {
            guard !reader.machine.isTerminated else {
                // The server may leave the body open after the last event.
                reader.close()
                return false
            }
            return try await reader.feed()
        }
    }
}

/// A parser that finds the data of events, up to the event that ends the stream.
struct EventFramer: IncrementalParser {
    private var parser: ServerSentEventParser
    private let terminator: String?
    /// The number of events so far.
    private var number = 0
    /// Whether the event that ends the stream has been read.
    private(set) var isTerminated = false

    init(limit: Int, until terminator: String?) {
        parser = ServerSentEventParser(limit: limit)
        self.terminator = terminator
    }

    mutating func append(_ chunk: Data) { parser.append(chunk) }

    mutating func next() throws -> RawElement? {
        guard !isTerminated, let event = try parser.next() else { return nil }
        number += 1
        if let terminator, event.data.hasSameBytes(as: terminator) {
            isTerminated = true
            return nil
        }
        return RawElement(unit: .event, number: number, bytes: Data(event.data.utf8))
    }

    mutating func finish() -> RawElement? { nil }
}
