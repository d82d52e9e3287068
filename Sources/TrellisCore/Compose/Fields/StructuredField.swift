import CurlEngine
package import FoundationEssentials

/// The value of an item of a structured field (RFC 9651, section 3.3).
package enum StructuredValue: Hashable, Sendable {
    /// A number of at most 15 digits.
    case integer(Int64)
    /// A number with up to three digits after its point.
    case decimal(thousandths: Int64)
    /// A text of printable ASCII.
    case string(String)
    /// A word without quotation marks.
    case token(String)
    /// Bytes, in Base64 on the wire.
    case bytes(Data)
    /// `?1` or `?0`.
    case boolean(Bool)
    /// The seconds since 1970.
    case date(Int64)
    /// A text of any characters.
    case displayString(String)

    /// Returns whether a text can be a ``string(_:)``.
    package static func isString(_ text: String) -> Bool { text.utf8.allSatisfy { 0x20...0x7E ~= $0 } }

    /// The value as it is written in a field (RFC 9651, section 4.1.3.1). What was parsed, and a ``string(_:)`` of printable ASCII, can be
    /// written.
    package var text: String {
        switch self {
        case .integer(let number): "\(number)"
        case .decimal(let thousandths): Self.decimal(thousandths)
        case .string(let text):
            "\"" + text.replacing(byte: "\\", with: #"\\"#).replacing(byte: "\"", with: #"\""#) + "\""
        case .token(let text): text
        case .bytes(let bytes): ":\(bytes.base64EncodedString()):"
        case .boolean(let isTrue): isTrue ? "?1" : "?0"
        case .date(let seconds): "@\(seconds)"
        case .displayString(let text): "%\"\(Self.escaped(text))\""
        }
    }

    private static func decimal(_ thousandths: Int64) -> String {
        let (whole, rest) = thousandths.magnitude.quotientAndRemainder(dividingBy: 1000)
        var digits = "\(rest + 1000)".dropFirst()
        while digits.utf8.count > 1, digits.utf8.last == UInt8(ascii: "0") { digits.removeLast() }
        return "\(thousandths < 0 ? "-" : "")\(whole).\(digits)"
    }

    private static func escaped(_ text: String) -> String {
        let digits = Array("0123456789abcdef".utf8)
        let bytes = text.utf8.flatMap { byte -> [UInt8] in
            let isPlain = 0x20...0x7E ~= byte && byte != UInt8(ascii: "%") && byte != UInt8(ascii: "\"")
            return isPlain ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// A parameter of an item or a list (RFC 9651, section 3.1.2).
package struct StructuredParameter: Hashable, Sendable {
    /// The name, in lower case.
    package let key: String
    /// The value; `true` if it has none.
    package let value: StructuredValue

    /// Creates a parameter.
    package init(_ key: String, _ value: StructuredValue) { (self.key, self.value) = (key, value) }

    fileprivate var text: String { value == .boolean(true) ? ";\(key)" : ";\(key)=\(value.text)" }
}

extension [StructuredParameter] {
    /// The value of a parameter, if there is one.
    package subscript(key: String) -> StructuredValue? { first { $0.key.hasSameBytes(as: key) }?.value }

    /// The parameters as they are written in a field (RFC 9651, section 4.1.1.2).
    package var text: String { map(\.text).joined() }
}

/// A value with its parameters (RFC 9651, section 3.3).
package struct StructuredItem: Hashable, Sendable {
    /// The value.
    package let value: StructuredValue
    /// The parameters, in their order.
    package let parameters: [StructuredParameter]

    /// Creates an item.
    package init(_ value: StructuredValue, _ parameters: [StructuredParameter] = []) {
        (self.value, self.parameters) = (value, parameters)
    }

    /// The item as it is written in a field (RFC 9651, section 4.1.3).
    package var text: String { value.text + parameters.text }

    /// Parses a field with a single item strictly (RFC 9651, section 4.2).
    ///
    /// - Parameter lines: The lines of the field.
    package init?(parsing lines: [String]) {
        var scanner = StructuredScanner(lines.joined(separator: ", "))
        scanner.skipSpaces()
        guard let item = scanner.item(), scanner.isAtEnd else { return nil }
        self = item
    }
}

/// A member of a list or a dictionary.
package enum StructuredMember: Hashable, Sendable {
    /// A value with its parameters.
    case item(StructuredItem)
    /// A list in parentheses, with its parameters (RFC 9651, section 3.1.1).
    case list([StructuredItem], [StructuredParameter])

    /// The member as it is written in a field.
    package var text: String {
        switch self {
        case .item(let item): item.text
        case .list(let items, let parameters): "(\(items.map(\.text).joined(separator: " ")))\(parameters.text)"
        }
    }
}
