import Foundation

/// A JSON value that is compared with literals: `report["error"]["kind"] == "dns"`, `report["items"] == [1, "x", .null]`.
enum JSON: Hashable, Sendable {
    /// Not a value: there is no such member or element.
    case missing
    case null
    case bool(Bool)
    case integer(Int)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    /// Decodes JSON; throws if it is none.
    init(parsing data: Data) throws { self = try JSONDecoder().decode(JSON.self, from: data) }

    /// The member of an object.
    subscript(name: String) -> JSON {
        if case .object(let members) = self { members[name] ?? .missing } else { .missing }
    }

    /// The element of an array.
    subscript(index: Int) -> JSON { elements.indices.contains(index) ? elements[index] : .missing }

    /// Some values within this one, as an array: `report.values("ok", "error.kind") == [false, "dns"]`.
    func values(_ paths: String...) -> JSON {
        .array(paths.map { path in path.split(separator: ".").reduce(self) { value, name in value[String(name)] } })
    }

    /// The elements of an array; none for another value.
    var elements: [JSON] { if case .array(let elements) = self { elements } else { [] } }

    /// The names of an object's members, in order.
    var names: [String] { if case .object(let members) = self { members.keys.sorted() } else { [] } }

    /// The string; empty for another value.
    var text: String { if case .string(let text) = self { text } else { "" } }

    /// The number; not a number for another value.
    var double: Double {
        switch self {
        case .integer(let number): Double(number)
        case .number(let number): number
        default: .nan
        }
    }
}

extension JSON: Decodable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode([JSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSON].self))
        }
    }
}

extension JSON: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringInterpolation, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(integerLiteral value: Int) { self = .integer(value) }
    init(floatLiteral value: Double) { self = Int(exactly: value).map(JSON.integer) ?? .number(value) }
    init(stringLiteral value: String) { self = .string(value) }
    init(arrayLiteral elements: JSON...) { self = .array(elements) }
    init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(Dictionary(elements) { _, last in last })
    }
}

extension JSON: CustomStringConvertible {
    var description: String {
        switch self {
        case .missing: "missing"
        case .null: "null"
        case .bool(let value): "\(value)"
        case .integer(let value): "\(value)"
        case .number(let value): "\(value)"
        case .string(let value): value.debugDescription
        case .array(let elements): "[\(elements.map(\.description).joined(separator: ", "))]"
        case .object(let members):
            "{\(members.map { "\($0.key.debugDescription): \($0.value)" }.sorted().joined(separator: ", "))}"
        }
    }
}
