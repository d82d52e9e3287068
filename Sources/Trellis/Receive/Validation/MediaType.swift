import CurlEngine

/// A media type, or a range of them: `text/html; charset=utf-8`, `image/*` (RFC 9110, sections 8.3.1 and 12.5.1).
public struct MediaType: Sendable, Hashable, CustomStringConvertible {
    /// A parameter, such as `charset=utf-8`.
    public struct Parameter: Sendable, Hashable {
        /// The name, in lower case.
        public let name: String
        /// The value as it was written, without quotation marks.
        public let value: String

        /// Whether name and value have the same bytes.
        public static func == (one: Parameter, other: Parameter) -> Bool {
            one.name.hasSameBytes(as: other.name) && one.value.hasSameBytes(as: other.value)
        }
    }

    /// What stands before the slash, in lower case; `*` in a range.
    public let type: String
    /// What stands after the slash, in lower case; `*` in a range.
    public let subtype: String
    /// The parameters in their order.
    public let parameters: [Parameter]

    /// Parses the value of a `Content-Type`, or one element of an `Accept`.
    ///
    /// A parameter that is malformed is left out. `nil` where type or subtype are missing or no tokens.
    public init?(_ text: some StringProtocol) {
        var scanner = FieldScanner(text)
        guard let type = scanner.token(), scanner.take("/"), let subtype = scanner.token() else { return nil }
        scanner.skipSpace()
        guard scanner.isAtEnd || scanner.isAt(";") else { return nil }
        self.type = type.lowercased()
        self.subtype = subtype.lowercased()
        var parameters: [Parameter] = []
        while scanner.skip(past: ";") {
            scanner.skipSpace()
            guard let name = scanner.token(), scanner.take("="), let value = scanner.tokenOrQuoted() else { continue }
            parameters.append(Parameter(name: name.lowercased(), value: value))
        }
        self.parameters = parameters
    }

    /// The elements of a list such as that of an `Accept` field; what cannot be parsed is left out.
    public static func list(_ text: String) -> [MediaType] {
        FieldScanner.elements(of: text).compactMap { MediaType($0) }
    }

    /// The value of the first parameter of that name, which is in lower case.
    public subscript(parameter: String) -> String? { parameters.first { $0.name == parameter }?.value }

    /// The parameter `charset`.
    public var charset: String? { self["charset"] }

    /// Type and subtype without the parameters: `text/html`.
    public var essence: String { "\(type)/\(subtype)" }

    /// Whether this one lies in a range. Parameters do not count; `*` in the range stands for anything.
    public func isIncluded(in range: MediaType) -> Bool {
        (range.type == "*" || range.type == type) && (range.subtype == "*" || range.subtype == subtype)
    }

    /// The type as it is written in a field.
    public var description: String {
        parameters.reduce(into: essence) { text, parameter in
            let isToken = !parameter.value.isEmpty && parameter.value.utf8.allSatisfy(FieldScanner.isTokenByte)
            let escaped = parameter.value.replacing(byte: "\\", with: #"\\"#).replacing(byte: "\"", with: #"\""#)
            text += isToken ? "; \(parameter.name)=\(parameter.value)" : "; \(parameter.name)=\"\(escaped)\""
        }
    }
}
