import FoundationEssentials

/// A value of any shape, which encodes itself in every way that `Encodable` allows.
indirect enum FormValue: Encodable, Sendable {
    case nothing, null
    case bool(Bool), integer(Int64), wide(UInt128), double(Double), float(Float), decimal(Decimal)
    case text(String), url(URL), data(Data), date(Date)
    case array([FormValue])
    /// The elements are written to a container that the array opens itself.
    case list([FormValue])
    case object([Member])
    case dictionary([String: FormValue])
    case numbered([Int: FormValue])
    case optional(FormValue?)
    /// The value is the only value of a container, nested that many times.
    case wrapped(FormValue, Int)
    /// Two values are written in place of one, which is an error.
    case twice(FormValue)

    /// A member of an object, and the way in which it is written.
    struct Member: Sendable {
        enum Way: CaseIterable { case encode, ifPresent, superEncoder, plainSuper }
        static let plainSuperKey = "super"

        let key: String
        let way: Way
        let value: FormValue

        /// Whether no call is made for the value.
        var isOpen: Bool {
            switch way {
            case .encode: false
            case .ifPresent: value.isNull
            case .superEncoder, .plainSuper: true
            }
        }
    }

    struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(_ text: String) { stringValue = text }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { return nil }
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .nothing: break
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .bool(let value): try Self.encode(value, encoder)
        case .integer(let value): try Self.encode(value, encoder)
        case .wide(let value): try Self.encode(value, encoder)
        case .double(let value): try Self.encode(value, encoder)
        case .float(let value): try Self.encode(value, encoder)
        case .decimal(let value): try Self.encode(value, encoder)
        case .text(let value): try Self.encode(value, encoder)
        case .url(let value): try Self.encode(value, encoder)
        case .data(let value): try Self.encode(value, encoder)
        case .date(let value): try Self.encode(value, encoder)
        case .array(let elements): try Self.encode(elements, encoder)
        case .list(let elements): try Self.write(elements, encoder)
        case .object(let members): try Self.write(members, encoder)
        case .dictionary(let members): try Self.encode(members, encoder)
        case .numbered(let members): try Self.encode(members, encoder)
        case .optional(let value): try Self.encode(value, encoder)
        case .wrapped(let value, let times):
            if times == 0 { return try Self.encode(value, encoder) }
            try Self.encode(FormValue.wrapped(value, times - 1), encoder)
        case .twice(let value):
            try Self.encode(1, encoder)
            try Self.encode(value, encoder)
        }
    }

    private static func encode(_ value: some Encodable, _ encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }

    private static func write(_ elements: [FormValue], _ encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        for element in elements {
            switch element {
            case .null: try container.encodeNil()
            case .nothing: _ = container.superEncoder()
            default: try container.encode(element)
            }
        }
    }

    private static func write(_ members: [Member], _ encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        for member in members {
            let key = Key(member.key)
            switch member.way {
            case .encode: try container.encode(member.value, forKey: key)
            case .ifPresent:
                if case .null = member.value {
                    try container.encodeIfPresent(String?.none, forKey: key)
                } else {
                    try container.encodeIfPresent(member.value, forKey: key)
                }
            case .superEncoder: try member.value.encode(to: container.superEncoder(forKey: key))
            case .plainSuper: try member.value.encode(to: container.superEncoder())
            }
        }
    }
}
