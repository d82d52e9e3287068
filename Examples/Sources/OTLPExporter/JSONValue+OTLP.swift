import Tracing
import Trellis

/// The parts of OTLP's messages. In JSON, integers of 64 bits are strings, and enumerations are numbers.
extension JSONValue {
    static func attributes(_ attributes: SpanAttributes) -> JSONValue {
        var pairs: [(String, JSONValue)] = []
        attributes.forEach { pairs.append(($0, value($1))) }
        return .array(pairs.sorted { $0.0 < $1.0 }.map { .object(["key": .string($0), "value": $1]) })
    }

    static func event(_ event: SpanEvent) -> JSONValue {
        .object([
            "name": .string(event.name), "timeUnixNano": .string("\(event.nanosecondsSinceEpoch)"),
            "attributes": .attributes(event.attributes),
        ])
    }

    /// Returns a link to another span; `nil` if that has no identity.
    static func link(_ link: SpanLink) -> JSONValue? {
        guard let other = link.context[OTLPSpan.Identity.Key.self] else { return nil }
        return .object([
            "traceId": .string(other.trace), "spanId": .string(other.span), "attributes": .attributes(link.attributes),
        ])
    }

    static func status(_ status: SpanStatus?) -> JSONValue {
        guard let status else { return .object([:]) }
        var members: [String: JSONValue] = ["code": .integer(status.code == .ok ? 1 : 2)]
        if let message = status.message { members["message"] = .string(message) }
        return .object(members)
    }

    private static func value(_ attribute: SpanAttribute) -> JSONValue {
        switch attribute {
        case .string(let text): .object(["stringValue": .string(text)])
        case .bool(let value): .object(["boolValue": .bool(value)])
        case .double(let number): .object(["doubleValue": .number(number)])
        case .int32(let number): .object(["intValue": .string("\(number)")])
        case .int64(let number): .object(["intValue": .string("\(number)")])
        case .stringArray(let texts):
            .object(["arrayValue": .object(["values": .array(texts.map { .object(["stringValue": .string($0)]) })])])
        case .stringConvertible(let value): .object(["stringValue": .string("\(value)")])
        default: .object(["stringValue": .string("\(attribute)")])
        }
    }
}
