/// A JSON value whose members stay in order.
enum JSONValue: Sendable {
    case null
    case bool(Bool)
    case number(String)
    case text(String)
    case array([JSONValue])
    case object([(name: String, value: JSONValue)])
    /// JSON text, which is printed unchanged.
    case verbatim(String)

    /// Returns a text, or null for `nil`.
    static func string(_ text: String?) -> JSONValue { text.map { .text($0) } ?? .null }

    /// Returns a whole number, or null for `nil`.
    static func integer(_ value: Int?) -> JSONValue { value.map { .number("\($0)") } ?? .null }

    /// Returns a duration in seconds, with microseconds.
    static func seconds(_ duration: Duration) -> JSONValue {
        let microseconds = max(0, Int64(duration / .microseconds(1)))
        let fraction = "\(microseconds % 1_000_000)"
        return .number("\(microseconds / 1_000_000).\(String(repeating: "0", count: 6 - fraction.count))\(fraction)")
    }

    /// Returns a duration in whole milliseconds.
    static func milliseconds(_ duration: Duration) -> JSONValue {
        let (seconds, attoseconds) = duration.components
        return .number("\(Int128(seconds) * 1000 + Int128(attoseconds / 1_000_000_000_000_000))")
    }

    /// The JSON text, on one line.
    var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let text), .verbatim(let text): text
        case .text(let text): Self.quoted(text)
        case .array(let values): "[" + values.map(\.text).joined(separator: ", ") + "]"
        case .object(let members):
            "{" + members.map { Self.quoted($0.name) + ": " + $0.value.text }.joined(separator: ", ") + "}"
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\r": quoted += "\\r"
            case "\t": quoted += "\\t"
            case _ where scalar.value < 0x20 || scalar.value == 0x7f:
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

extension JSONValue: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral {
    init(dictionaryLiteral members: (String, JSONValue)...) {
        self = .object(members.map { (name: $0.0, value: $0.1) })
    }

    init(arrayLiteral values: JSONValue...) { self = .array(values) }
}
