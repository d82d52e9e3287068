/// A JSON value of any kind, for JSON without a Swift type of its own.
public enum JSONValue: Sendable, Hashable {
    /// The value `null`.
    case null
    /// The value `true` or `false`.
    case bool(Bool)
    /// A whole number that fits in an `Int`.
    case integer(Int)
    /// Any other number.
    case number(Double)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    case object([String: JSONValue])

    /// The member of an object with a name, if any.
    public subscript(name: String) -> JSONValue? { if case .object(let members) = self { members[name] } else { nil } }

    /// The element of an array at an index, if any.
    public subscript(index: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    /// The string; `nil` if the value is not a string.
    public var stringValue: String? { if case .string(let text) = self { text } else { nil } }

    /// The whole number; `nil` if the value is not a whole number.
    public var integerValue: Int? { if case .integer(let number) = self { number } else { nil } }
}

extension JSONValue: Codable {
    /// Decodes any JSON value, within a value of another type. For a whole text, ``init(json:)`` is faster by far.
    ///
    /// - Throws: `DecodingError` for a value that JSON does not have, from another format, and for arrays and objects at a depth of over
    ///   64: a `Decoder` does not tell what it has, and each type that it is asked for in vain takes time that grows with the depth.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else {
            self = try Self.nested(decoder, container)
        }
    }

    /// Returns the array or object of a decoder.
    private static func nested(
        _ decoder: any Decoder, _ container: any SingleValueDecodingContainer
    ) throws -> JSONValue {
        guard decoder.codingPath.count <= maximumDecodedDepth else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "There are values at a depth of over \(maximumDecodedDepth).")
        }
        if (try? decoder.unkeyedContainer()) == nil { return .object(try container.decode([String: JSONValue].self)) }
        return .array(try container.decode([JSONValue].self))
    }

    private static let maximumDecodedDepth = 64

    /// Encodes the value. A number may be written differently from the text that it was decoded from, such as `1.0` as `1`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}
