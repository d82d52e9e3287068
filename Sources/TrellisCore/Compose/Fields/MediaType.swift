import CurlEngine

/// A media type, or a range of them: `text/html; charset=utf-8`, `image/*` (RFC 9110, sections 8.3.1 and 12.5.1).
public struct MediaType: Sendable, Hashable, CustomStringConvertible {
    /// A parameter, such as `charset=utf-8`.
    public struct Parameter: Sendable, Hashable {
        /// The name, in lower case.
        public let name: String
        /// The value as it was written, without quotation marks.
        public let value: String

        /// Returns whether the names and the values have the same bytes.
        public static func == (one: Parameter, other: Parameter) -> Bool {
            one.name.hasSameBytes(as: other.name) && one.value.hasSameBytes(as: other.value)
        }
    }

    /// The part before the slash, in lower case; `*` in a range.
    public let type: String
    /// The part after the slash, in lower case; `*` in a range.
    public let subtype: String
    /// The parameters in their order.
    public let parameters: [Parameter]

    /// Creates a media type from the value of a `Content-Type`, or from one element of an `Accept`.
    ///
    /// A malformed parameter is left out. The result is `nil` if the type or the subtype is missing or not a token.
    public init?(_ text: some StringProtocol) {
        var scanner = FieldScanner(text)
        guard let type = scanner.token(), scanner.take("/"), let subtype = scanner.token() else { return nil }
        scanner.skipSpace()
        guard scanner.isAtEnd || scanner.isAt(";") else { return nil }
        self.type = type.lowercasedASCII()
        self.subtype = subtype.lowercasedASCII()
        var parameters: [Parameter] = []
        while scanner.skip(past: ";") {
            scanner.skipSpace()
            guard let name = scanner.token(), scanner.take("="), let value = scanner.tokenOrQuoted() else { continue }
            parameters.append(Parameter(name: name.lowercasedASCII(), value: value))
        }
        self.parameters = parameters
    }

    /// Returns the elements of a list, such as the value of an `Accept` field; elements that cannot be parsed are left out.
    public static func list(_ text: String) -> [MediaType] {
        FieldScanner.elements(of: text).compactMap { MediaType($0) }
    }

    /// The value of the first parameter with a name, which is given in lower case.
    public subscript(parameter: String) -> String? { parameters.first { $0.name == parameter }?.value }

    /// The value of the parameter `charset`.
    public var charset: String? { self["charset"] }

    /// The type and the subtype without the parameters, such as `text/html`.
    public var essence: String { "\(type)/\(subtype)" }

    /// Returns whether this media type is in a range. Parameters do not count; `*` in the range matches anything.
    public func isIncluded(in range: MediaType) -> Bool {
        (range.type == "*" || range.type == type) && (range.subtype == "*" || range.subtype == subtype)
    }

    /// The media type as it is written in a field.
    public var description: String {
        parameters.reduce(into: essence) { text, parameter in
            let isToken = !parameter.value.isEmpty && parameter.value.utf8.allSatisfy(FieldScanner.isTokenByte)
            let escaped = parameter.value.replacing(byte: "\\", with: #"\\"#).replacing(byte: "\"", with: #"\""#)
            text += isToken ? "; \(parameter.name)=\(parameter.value)" : "; \(parameter.name)=\"\(escaped)\""
        }
    }
}
