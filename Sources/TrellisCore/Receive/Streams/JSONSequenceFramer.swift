import CurlEngine
import FoundationEssentials

/// A parser that finds the texts of a JSON text sequence, independent of how the body is cut into chunks.
struct JSONSequenceFramer: IncrementalParser {
    private static let separator: UInt8 = 0x1E

    private let limit: Int
    private var chunk: [UInt8] = []
    private var position = 0
    /// The bytes of the present text that have been received.
    private var text: [UInt8] = []
    private var scan = JSONTextScan()
    /// The number of texts so far, without blank and cut ones.
    private var number = 0

    init(limit: Int) { self.limit = limit }

    mutating func append(_ chunk: Data) {
        self.chunk = [UInt8](copying: chunk.span)
        position = 0
    }

    mutating func next() throws -> RawElement? {
        while try takeText() { if let text = handOn() { return text } }
        return nil
    }

    mutating func finish() -> RawElement? { handOn() }

    /// Takes the bytes up to the end of a text; returns `false` if the end has not been received.
    private mutating func takeText() throws -> Bool {
        let start = position
        while position < chunk.count {
            let byte = chunk[position]
            position += 1
            // A JSON text never contains a separator, not even in a string.
            if byte == Self.separator {
                try append(chunk[start..<position - 1])
                return true
            }
            if scan.takeEnds(byte) {
                try append(chunk[start..<position])
                return true
            }
        }
        try append(chunk[start...])
        return false
    }

    private mutating func append(_ bytes: ArraySlice<UInt8>) throws(TrellisError) {
        guard text.count + bytes.count <= limit else { throw .tooLong("a JSON text", limit: limit) }
        text.append(contentsOf: bytes)
    }

    /// Returns the present text, unless the text is blank or cut short, and begins the next one.
    private mutating func handOn() -> RawElement? {
        defer {
            text.removeAll(keepingCapacity: true)
            scan = JSONTextScan()
        }
        guard !scan.isBlank, let first = text.first(where: { !$0.isBlankJSON }), let last = text.last else {
            return nil
        }
        let delimitsItself = first == UInt8(ascii: "{") || first == UInt8(ascii: "[") || first == UInt8(ascii: "\"")
        guard delimitsItself || last.isBlankJSON else { return nil }
        number += 1
        return RawElement(unit: .text, number: number, bytes: Data(text))
    }
}
