/// A dictionary whose values have types known only at run time, as an `Encodable` value.
struct DynamicParameters: Encodable, Sendable {
    private let values: [String: any Sendable]

    init(_ values: [String: any Sendable]) { self.values = values }

    func encode(to encoder: any Encoder) throws { try DynamicValue(values, depth: 0).encode(to: encoder) }
}

/// A value of the dictionary, or of a dictionary, array or optional inside it.
private struct DynamicValue: Encodable {
    /// The deepest nesting that is encoded: as many levels as Foundation's JSON decoder reads.
    private static let maximumDepth = 512

    /// A dictionary's key as a coding key.
    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(_ text: String) { stringValue = text }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { return nil }
    }

    private let value: Any
    /// The number of dictionaries, arrays and optionals around the value.
    private let depth: Int

    init(_ value: Any, depth: Int) {
        self.value = value
        self.depth = depth
    }

    func encode(to encoder: any Encoder) throws {
        guard depth <= Self.maximumDepth else {
            throw failure("it is nested in more than \(Self.maximumDepth) others", encoder)
        }
        let mirror = Mirror(reflecting: value)
        if let value = value as? any Encodable {
            var container = encoder.singleValueContainer()
            try container.encode(value)
        } else if mirror.displayStyle == .optional {
            // An optional whose wrapped type is known only at run time.
            try encode(mirror, to: encoder)
        } else if let object = value as? [String: Any] {
            var container = encoder.container(keyedBy: Key.self)
            for (key, value) in object { try container.encode(inner(value), forKey: Key(key)) }
        } else if let array = value as? [Any] {
            var container = encoder.unkeyedContainer()
            for value in array { try container.encode(inner(value)) }
        } else {
            throw failure("it is not Encodable", encoder)
        }
    }

    private func encode(_ optional: Mirror, to encoder: any Encoder) throws {
        if let value = optional.children.first?.value { return try inner(value).encode(to: encoder) }
        var container = encoder.singleValueContainer()
        try container.encodeNil()
    }

    private func inner(_ value: Any) -> DynamicValue { DynamicValue(value, depth: depth + 1) }

    private func failure(_ reason: String, _ encoder: any Encoder) -> EncodingError {
        .invalidValue(type(of: value), .init(codingPath: encoder.codingPath, debugDescription: reason))
    }
}
