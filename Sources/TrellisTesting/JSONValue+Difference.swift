import CurlEngine
import FoundationEssentials
import TrellisCore

/// The comparison of JSON, for messages.
extension JSONValue {
    /// Parses JSON; `nil` if the bytes are not JSON.
    init?(_ bytes: Data) {
        guard let value = try? JSONValue(json: bytes) else { return nil }
        self = value
    }

    /// The first difference between two values.
    struct Difference {
        /// The place of the difference, such as `$.users[0].name`.
        let path: String
        let expected: String
        let actual: String
    }

    /// Returns the first difference to another value; `nil` if the values are equal.
    func difference(to actual: JSONValue) -> Difference? { difference(to: actual, at: "$", isSecret: false) }

    private func difference(to actual: JSONValue, at path: String, isSecret: Bool) -> Difference? {
        switch (self, actual) {
        case (.object(let expected), .object(let actual)):
            let (expected, actual) = (Self.byBytes(expected), Self.byBytes(actual))
            let names = Set(expected.keys).union(actual.keys).sorted { $0.text < $1.text }
            for name in names {
                let place = "\(path).\(name.text)"
                let isSecret = isSecret || URLRedaction.isSecret(name.text[...])
                guard let one = expected[name], let other = actual[name] else {
                    return Difference(
                        path: place, expected: Self.shown(expected[name], isSecret),
                        actual: Self.shown(actual[name], isSecret))
                }
                if let found = one.difference(to: other, at: place, isSecret: isSecret) { return found }
            }
            return nil
        case (.array(let expected), .array(let actual)):
            for (index, (one, other)) in zip(expected, actual).enumerated() {
                if let found = one.difference(to: other, at: "\(path)[\(index)]", isSecret: isSecret) { return found }
            }
            if expected.count == actual.count { return nil }
            return Difference(path: path, expected: "\(expected.count) elements", actual: "\(actual.count)")
        default:
            if isSame(as: actual) { return nil }
            let texts = (Self.shown(self, isSecret), Self.shown(actual, isSecret))
            return Difference(path: path, expected: texts.0, actual: isSecret ? "another value" : texts.1)
        }
    }

    /// Returns members by the bytes of their names: texts that look the same are different names.
    private static func byBytes(_ members: [String: JSONValue]) -> [TextBytes: JSONValue] {
        Dictionary(members.map { (TextBytes($0.key), $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    /// Returns whether two values without parts are equal.
    private func isSame(as other: JSONValue) -> Bool {
        switch (self, other) {
        case (.null, .null): true
        case (.bool(let one), .bool(let other)): one == other
        case (.integer(let one), .integer(let other)): one == other
        case (.number(let one), .number(let other)): one == other
        case (.integer(let one), .number(let other)), (.number(let other), .integer(let one)): Double(one) == other
        case (.string(let one), .string(let other)): one.hasSameBytes(as: other)
        default: false
        }
    }

    private static func shown(_ value: JSONValue?, _ isSecret: Bool) -> String {
        guard let value else { return "none" }
        return isSecret ? "REDACTED" : RouteMismatch.shortened(value.text)
    }

    /// The value as JSON, without the secrets of its members.
    private var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .integer(let value): "\(value)"
        case .number(let value): "\(value)"
        case .string(let value): "\"\(value)\""
        case .array(let values): "[\(values.map(\.text).joined(separator: ", "))]"
        case .object(let members):
            "{"
                + members.sorted { $0.key < $1.key }
                .map { name, value in "\"\(name)\": \(URLRedaction.isSecret(name[...]) ? "REDACTED" : value.text)" }
                .joined(separator: ", ") + "}"
        }
    }
}
