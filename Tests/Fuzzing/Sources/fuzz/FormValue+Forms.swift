import FoundationEssentials

/// Other representations of the same value.
extension FormValue {
    /// Whether a container with this value as an element writes nothing for the value.
    var isNothing: Bool {
        if case .nothing = self { true } else { isNull }
    }

    var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// The keys of the members of a dictionary or an object.
    var keys: [String] {
        switch self {
        case .dictionary(let members): Array(members.keys)
        case .object(let members): members.map(\.key)
        default: []
        }
    }

    /// The value with every dictionary rebuilt, in reverse order and with a larger capacity, so that the order differs.
    var reordered: FormValue {
        switch self {
        case .array(let elements): .array(elements.map(\.reordered))
        case .list(let elements): .list(elements.map(\.reordered))
        case .object(let members): .object(members.map { Member(key: $0.key, way: $0.way, value: $0.value.reordered) })
        case .dictionary(let members): .dictionary(Self.reordered(members))
        case .numbered(let members): .numbered(Self.reordered(members))
        case .optional(let value?): .optional(value.reordered)
        case .wrapped(let value, let times): .wrapped(value.reordered, times)
        default: self
        }
    }

    private static func reordered<Key: Hashable>(_ members: [Key: FormValue]) -> [Key: FormValue] {
        var result: [Key: FormValue] = [:]
        result.reserveCapacity(members.count * 7)
        for (key, value) in members.reversed() { result[key] = value.reordered }
        return result
    }

    /// The value with a type that is only known at run time.
    var dynamic: any Sendable {
        switch self {
        case .null, .optional(nil): String?.none
        case .optional(let value?): Optional(value.dynamic)
        case .text(let value): value
        case .bool(let value): Bool?.some(value)
        case .date(let value): value
        case .data(let value): value
        case .array(let elements), .list(let elements): elements.map(\.dynamic)
        case .dictionary(let members): members.mapValues(\.dynamic)
        default: self
        }
    }
}
