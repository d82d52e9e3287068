import CurlEngine
public import FoundationEssentials

extension JSONValue {
    /// The largest number of arrays and objects around a value of a text: 512, as for `JSONDecoder`.
    public static let maximumNesting = 512

    /// Reads a JSON text in UTF-8 (RFC 8259).
    ///
    /// The time grows with the length of the text alone. `JSONDecoder` tries one type after the other for each value, and each failure
    /// costs it the square of the depth. The response serializers read a ``JSONValue`` and ``ProblemDetails`` with this initializer.
    ///
    /// Of members with the same name, the first one counts. A comma may follow the last element or member. `JSONDecoder` does the same.
    ///
    /// - Throws: `DecodingError.dataCorrupted` for bytes that are no JSON text in UTF-8, for a number beyond the range of `Double`, and for
    ///   values that are nested deeper than ``maximumNesting``.
    public init(json: Data) throws {
        var parser = JSONParser()
        self = try parser.text(json.span)
    }
}

/// A type that reads JSON text without a decoder.
protocol JSONReadable {
    init(json: Data) throws
}

extension JSONValue: JSONReadable {}

extension ProblemDetails: JSONReadable {
    init(json: Data) throws {
        guard case .object(let members) = try JSONValue(json: json) else {
            throw DecodingError.typeMismatch(
                [String: JSONValue].self, .init(codingPath: [], debugDescription: "The JSON is not an object."))
        }
        self.init(members: members)
    }
}

extension DataDecoder {
    /// Returns the value that the bytes represent. A type that reads JSON itself does so.
    func value<Value: Decodable>(_ type: Value.Type = Value.self, from data: Data) throws -> Value {
        if let decoder = self as? JSONDecoder, decoder.readsStandardJSON,
            let readable = Value.self as? any JSONReadable.Type, let value = try readable.init(json: data) as? Value
        {
            return value
        }
        return try decode(Value.self, from: data)
    }
}

extension JSONDecoder {
    /// Whether texts mean what RFC 8259 says.
    fileprivate var readsStandardJSON: Bool {
        guard case .throw = nonConformingFloatDecodingStrategy else { return false }
        return !allowsJSON5 && !assumesTopLevelDictionary
    }
}

/// The reader of one JSON text. Nesting costs memory on the heap alone.
private struct JSONParser {
    /// An array or object whose end was not read yet.
    private enum Open {
        case array([JSONValue])
        /// The members, and the name of the next one.
        case object([String: JSONValue], name: String)
    }

    private var position = 0
    private var open: [Open] = []

    /// Reads the text, which is one value.
    mutating func text(_ bytes: Span<UInt8>) throws -> JSONValue {
        // A reader may ignore a byte order mark (RFC 8259, section 8.1).
        if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF { position = 3 }
        while true {
            guard var value = try beginning(bytes) else { continue }
            // The value may be the last one of several arrays and objects.
            while true {
                guard let container = open.popLast() else {
                    guard next(bytes) == nil else { throw corrupted("there is more after the value") }
                    return value
                }
                guard let ended = try add(value, to: container, bytes) else { break }
                value = ended
            }
        }
    }

    /// Reads a value; returns `nil` after the beginning of an array or object that has values.
    private mutating func beginning(_ bytes: Span<UInt8>) throws -> JSONValue? {
        guard let byte = next(bytes) else { throw corrupted("the text ends early") }
        switch byte {
        case UInt8(ascii: "["):
            position += 1
            if take(UInt8(ascii: "]"), bytes) { return .array([]) }
            try enter(.array([]))
            return nil
        case UInt8(ascii: "{"):
            position += 1
            if take(UInt8(ascii: "}"), bytes) { return .object([:]) }
            try enter(.object([:], name: try name(bytes)))
            return nil
        case UInt8(ascii: "\""): return .string(try string(bytes))
        case UInt8(ascii: "t"): return try literal(Self.true, as: .bool(true), bytes)
        case UInt8(ascii: "f"): return try literal(Self.false, as: .bool(false), bytes)
        case UInt8(ascii: "n"): return try literal(Self.null, as: .null, bytes)
        default: return try number(bytes)
        }
    }

    private mutating func enter(_ container: Open) throws {
        guard open.count < JSONValue.maximumNesting else {
            throw corrupted("the values are nested deeper than \(JSONValue.maximumNesting) levels")
        }
        open.append(container)
    }

    /// Adds a value to the innermost array or object, and returns that if it has ended.
    private mutating func add(_ value: JSONValue, to container: Open, _ bytes: Span<UInt8>) throws -> JSONValue? {
        switch container {
        case .array(var elements):
            elements.append(value)
            if try ends(with: UInt8(ascii: "]"), bytes) { return .array(elements) }
            open.append(.array(elements))
        case .object(var members, let name):
            if members[name] == nil { members[name] = value }
            if try ends(with: UInt8(ascii: "}"), bytes) { return .object(members) }
            open.append(.object(members, name: try self.name(bytes)))
        }
        return nil
    }

    /// Reads the end of an array or object, or the comma before the next value; returns whether it has ended.
    private mutating func ends(with closing: UInt8, _ bytes: Span<UInt8>) throws -> Bool {
        if take(closing, bytes) { return true }
        guard take(UInt8(ascii: ","), bytes) else { throw corrupted("there is no comma between two values") }
        return take(closing, bytes)
    }

    /// Reads the name of a member, and the colon.
    private mutating func name(_ bytes: Span<UInt8>) throws -> String {
        guard next(bytes) == UInt8(ascii: "\"") else { throw corrupted("a member has no name") }
        let name = try string(bytes)
        guard take(UInt8(ascii: ":"), bytes) else { throw corrupted("there is no colon after a name") }
        return name
    }

    private mutating func string(_ bytes: Span<UInt8>) throws -> String {
        guard let end = bytes.endOfJSONString(from: position) else { throw corrupted("a string has no end") }
        let content = bytes.extracting(position + 1..<end - 1)
        var hasEscapes = false
        for index in content.indices {
            guard content[index] >= 0x20 else { throw corrupted("a string has a control character") }
            if content[index] == UInt8(ascii: "\\") { hasEscapes = true }
        }
        let text =
            hasEscapes
            ? bytes.unescapedJSONString(position..<end) : try? String(copying: UTF8Span(validating: content))
        guard let text else { throw corrupted("a string is not UTF-8, or has a wrong escape") }
        position = end
        return text
    }

    private static let `true` = Array("true".utf8)
    private static let `false` = Array("false".utf8)
    private static let null = Array("null".utf8)

    private mutating func literal(_ word: [UInt8], as value: JSONValue, _ bytes: Span<UInt8>) throws -> JSONValue {
        guard let end = bytes.endOfJSONValue(from: position), end - position == word.count,
            bytes.matches(word.span, at: position)
        else { throw corrupted("a value is none of true, false and null") }
        position = end
        return value
    }

    /// Reads a number (RFC 8259, section 6). A whole number that `Int` has is one, however it is written.
    private mutating func number(_ bytes: Span<UInt8>) throws -> JSONValue {
        let end = bytes.endOfJSONValue(from: position) ?? position
        let number = bytes.extracting(position..<end)
        guard number.isJSONNumber else { throw corrupted("there is no value") }
        let text = String(utf8: number)
        defer { position = end }
        if let integer = Int(text) { return .integer(integer) }
        guard let value = Double(text), value.isFinite else { throw corrupted("a number exceeds the range of Double") }
        return Int(exactly: value).map { .integer($0) } ?? .number(value)
    }

    /// Returns the next byte that is no blank; `nil` at the end.
    private mutating func next(_ bytes: Span<UInt8>) -> UInt8? {
        position = bytes.endOfJSONBlanks(from: position)
        return position < bytes.count ? bytes[position] : nil
    }

    /// Takes a byte if it is the next one that is no blank.
    private mutating func take(_ byte: UInt8, _ bytes: Span<UInt8>) -> Bool {
        guard next(bytes) == byte else { return false }
        position += 1
        return true
    }

    private func corrupted(_ reason: String) -> DecodingError {
        .dataCorrupted(.init(codingPath: [], debugDescription: "At byte \(position), \(reason)."))
    }
}

extension Span<UInt8> {
    /// Whether the bytes are a number in JSON (RFC 8259, section 6).
    fileprivate var isJSONNumber: Bool {
        var index = 0
        func digits() -> Int {
            let start = index
            while index < count, UInt8(ascii: "0")...UInt8(ascii: "9") ~= self[index] { index += 1 }
            return index - start
        }
        func take(_ bytes: UInt8...) -> Bool {
            guard index < count, bytes.contains(self[index]) else { return false }
            index += 1
            return true
        }
        _ = take(UInt8(ascii: "-"))
        let first = index
        let whole = digits()
        guard whole > 0, whole == 1 || self[first] != UInt8(ascii: "0") else { return false }
        if take(UInt8(ascii: ".")), digits() == 0 { return false }
        if take(UInt8(ascii: "e"), UInt8(ascii: "E")) {
            _ = take(UInt8(ascii: "+"), UInt8(ascii: "-"))
            if digits() == 0 { return false }
        }
        return index == count
    }
}
