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

/// A scanner that finds the end of a JSON text without parsing the text: a line feed outside of all brackets and strings, after a
/// byte that is not white space.
struct JSONTextScan {
    /// The number of open brackets.
    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    /// Whether the text has only white space so far.
    private(set) var isBlank = true

    /// Takes the next byte, and returns whether the text has ended with that byte.
    mutating func takeEnds(_ byte: UInt8) -> Bool {
        if isInString {
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isInString = false
            }
            return false
        }
        switch byte {
        case UInt8(ascii: "\n"): return depth == 0 && !isBlank
        case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): return false
        case UInt8(ascii: "\""): isInString = true
        case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
        // After a surplus closing bracket the depth is negative, and only the separator of the next text ends this one.
        case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
        default: break
        }
        isBlank = false
        return false
    }
}

extension Span<UInt8> {
    /// Whether all bytes are JSON white space (RFC 8259, section 2).
    var isBlankJSON: Bool {
        for offset in 0..<count where !self[offset].isBlankJSON { return false }
        return true
    }
}

extension UInt8 {
    /// Whether the byte is JSON white space, which is space, tab, LF and CR.
    var isBlankJSON: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
}
