import CurlEngine
import FoundationEssentials

/// A scanner for the parts of structured fields (RFC 9651, section 4.2). A part that is missing or malformed is `nil`.
struct StructuredScanner {
    private let bytes: [UInt8]
    private var index = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    /// Whether nothing but spaces is left.
    var isAtEnd: Bool { bytes[index...].allSatisfy { $0 == 0x20 } }

    private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

    private func isAt(_ character: Unicode.Scalar) -> Bool { next == UInt8(ascii: character) }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard isAt(character) else { return false }
        index += 1
        return true
    }

    mutating func skipSpaces() { while isAt(" ") { index += 1 } }

    private mutating func skipBlanks() { while isAt(" ") || isAt("\t") { index += 1 } }

    /// Takes what is between two members. Returns whether another one follows; `nil` for anything else, such as a comma at the end.
    mutating func comma() -> Bool? {
        skipBlanks()
        if index == bytes.count { return false }
        guard take(",") else { return nil }
        skipBlanks()
        return index == bytes.count ? nil : true
    }

    private mutating func takeAll(where condition: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let start = index
        while let next, condition(next) { index += 1 }
        return bytes[start..<index]
    }

    private static func text(_ bytes: some Collection<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
    private static func isLowercase(_ byte: UInt8) -> Bool { 0x61...0x7A ~= byte }
    private static func isDigit(_ byte: UInt8) -> Bool { 0x30...0x39 ~= byte }

    /// Takes a key (RFC 9651, section 4.2.3.3).
    mutating func key() -> String? {
        guard let first = next, Self.isLowercase(first) || first == UInt8(ascii: "*") else { return nil }
        return Self.text(takeAll { Self.isLowercase($0) || Self.isDigit($0) || "_-.*".utf8.contains($0) })
    }

    /// Takes parameters (RFC 9651, section 4.2.3.2).
    mutating func parameters() -> [StructuredParameter]? {
        var parameters: [StructuredParameter] = []
        // The places of the parameters: a server may send thousands of them.
        var places: [String: Int] = [:]
        while take(";") {
            skipSpaces()
            guard let key = key(), let value = take("=") ? bareItem() : .boolean(true) else { return nil }
            if let place = places[key] {
                parameters[place] = StructuredParameter(key, value)
            } else {
                places[key] = parameters.count
                parameters.append(StructuredParameter(key, value))
            }
        }
        return parameters
    }

    /// Takes an item or a list in parentheses (RFC 9651, section 4.2.1.1).
    mutating func member() -> StructuredMember? { isAt("(") ? innerList() : item().map { .item($0) } }

    /// Takes an item (RFC 9651, section 4.2.3).
    mutating func item() -> StructuredItem? {
        guard let value = bareItem(), let parameters = parameters() else { return nil }
        return StructuredItem(value, parameters)
    }

    /// Takes a list in parentheses (RFC 9651, section 4.2.1.2).
    private mutating func innerList() -> StructuredMember? {
        guard take("(") else { return nil }
        var items: [StructuredItem] = []
        while index < bytes.count {
            skipSpaces()
            if take(")") { return parameters().map { .list(items, $0) } }
            guard let item = item(), isAt(" ") || isAt(")") else { return nil }
            items.append(item)
        }
        return nil
    }

    /// Takes an item without its parameters (RFC 9651, section 4.2.3.1).
    private mutating func bareItem() -> StructuredValue? {
        guard let first = next else { return nil }
        switch first {
        case UInt8(ascii: "-"), 0x30...0x39: return number()
        case UInt8(ascii: "\""): return string()
        case UInt8(ascii: ":"): return byteSequence()
        case UInt8(ascii: "?"): return boolean()
        case UInt8(ascii: "@"):
            index += 1
            guard case .integer(let seconds)? = number() else { return nil }
            return .date(seconds)
        case UInt8(ascii: "%"): return displayString()
        case UInt8(ascii: "*"), 0x41...0x5A, 0x61...0x7A:
            return .token(
                Self.text(
                    takeAll { FieldScanner.isTokenByte($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") }))
        default: return nil
        }
    }

    /// Takes an integer of at most 15 digits, or a decimal with at most 12 and 3 (RFC 9651, section 4.2.4).
    private mutating func number() -> StructuredValue? {
        let sign: Int64 = take("-") ? -1 : 1
        let digits = takeAll(where: Self.isDigit)
        guard !digits.isEmpty, digits.count <= 15 else { return nil }
        let number = Self.value(digits)
        guard take(".") else { return .integer(sign * number) }
        let fraction = takeAll(where: Self.isDigit)
        guard digits.count <= 12, (1...3).contains(fraction.count) else { return nil }
        let zeros = repeatElement(UInt8(ascii: "0"), count: 3 - fraction.count)
        return .decimal(thousandths: sign * (number * 1000 + Self.value(fraction + zeros)))
    }

    private static func value(_ digits: ArraySlice<UInt8>) -> Int64 {
        digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }

    private mutating func boolean() -> StructuredValue? {
        index += 1
        if take("1") { return .boolean(true) }
        return take("0") ? .boolean(false) : nil
    }

    private mutating func string() -> StructuredValue? {
        index += 1
        var text: [UInt8] = []
        while let byte = next {
            index += 1
            switch byte {
            case UInt8(ascii: "\""): return .string(Self.text(text))
            case UInt8(ascii: "\\"):
                guard let escaped = next, take("\"") || take("\\") else { return nil }
                text.append(escaped)
            case 0x20...0x7E: text.append(byte)
            default: return nil
            }
        }
        return nil
    }

    private mutating func byteSequence() -> StructuredValue? {
        index += 1
        let text = takeAll { Self.isDigit($0) || Self.isLowercase($0 | 0x20) || "+/=".utf8.contains($0) }
        guard take(":") else { return nil }
        // Padding that is missing is added (RFC 9651, section 4.2.7).
        let padding = repeatElement(UInt8(ascii: "="), count: (4 - text.count % 4) % 4)
        return Data(base64Encoded: Data(text + padding)).map { .bytes($0) }
    }

    private mutating func displayString() -> StructuredValue? {
        index += 1
        guard take("\"") else { return nil }
        var text: [UInt8] = []
        while let byte = next {
            index += 1
            switch byte {
            case UInt8(ascii: "\""): return String(validating: text, as: UTF8.self).map { .displayString($0) }
            case UInt8(ascii: "%"):
                guard let high = lowercaseDigit(), let low = lowercaseDigit() else { return nil }
                text.append(high << 4 | low)
            case 0x20...0x7E: text.append(byte)
            default: return nil
            }
        }
        return nil
    }

    private mutating func lowercaseDigit() -> UInt8? {
        guard let digit = next, Self.isDigit(digit) || 0x61...0x66 ~= digit else { return nil }
        index += 1
        return digit.hexValue
    }
}
