import CurlEngine
import TrellisCore

/// A dictionary of structured fields (RFC 9651, section 3.2). It keeps booleans and integers, and only the types of other values.
struct StructuredDictionary: Hashable, Sendable {
    /// The value of a member.
    enum Value: Hashable, Sendable {
        case boolean(Bool)
        case integer(Int64)
        /// A string, whose text is not kept.
        case string
        /// A value of another type.
        case other
    }

    /// The members in their order. A key that is repeated has its last value, in its first place.
    private(set) var members: [(key: String, value: Value)] = []

    /// Parses a dictionary strictly (RFC 9651, section 4.2.2).
    ///
    /// - Parameter lines: The lines of the field, which are joined with commas.
    /// - Returns: `nil` if the text is no dictionary.
    init?(parsing lines: [String]) {
        var scanner = StructuredScanner(lines.joined(separator: ", "))
        // The places of the members: a server may send thousands of them.
        var places: [String: Int] = [:]
        scanner.skipSpaces()
        while !scanner.isAtEnd {
            guard let key = scanner.key() else { return nil }
            var value = Value.boolean(true)
            if scanner.take("=") {
                guard let member = scanner.isAt("(") ? scanner.innerList() : scanner.bareItem() else { return nil }
                value = member
            }
            guard scanner.parameters() else { return nil }
            if let place = places[key] {
                members[place].value = value
            } else {
                places[key] = members.count
                members.append((key, value))
            }
            scanner.skipBlanks()
            if scanner.isAtEnd { return }
            guard scanner.take(",") else { return nil }
            scanner.skipBlanks()
            // A comma at the end is an error.
            if scanner.isAtEnd { return nil }
        }
    }

    static func == (left: StructuredDictionary, right: StructuredDictionary) -> Bool {
        left.members.elementsEqual(right.members) { $0.key.hasSameBytes(as: $1.key) && $0.value == $1.value }
    }

    func hash(into hasher: inout Hasher) {
        for member in members { hasher.combine(member.value) }
    }
}

/// A scanner for the parts of structured fields. A part that is missing or malformed is `nil`.
private struct StructuredScanner {
    private let bytes: [UInt8]
    private var index = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    /// Whether nothing but spaces is left.
    var isAtEnd: Bool { bytes[index...].allSatisfy { $0 == 0x20 } }

    private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

    func isAt(_ character: Unicode.Scalar) -> Bool { next == UInt8(ascii: character) }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard isAt(character) else { return false }
        index += 1
        return true
    }

    mutating func skipSpaces() { while isAt(" ") { index += 1 } }

    /// Skips spaces and tabs.
    mutating func skipBlanks() { while isAt(" ") || isAt("\t") { index += 1 } }

    private mutating func takeAll(where condition: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let start = index
        while let next, condition(next) { index += 1 }
        return bytes[start..<index]
    }

    private static func isLowercase(_ byte: UInt8) -> Bool { 0x61...0x7A ~= byte }
    private static func isDigit(_ byte: UInt8) -> Bool { 0x30...0x39 ~= byte }

    /// Takes a key (RFC 9651, section 4.2.3.3).
    mutating func key() -> String? {
        guard let first = next, Self.isLowercase(first) || first == UInt8(ascii: "*") else { return nil }
        let key = takeAll { Self.isLowercase($0) || Self.isDigit($0) || "_-.*".utf8.contains($0) }
        return String(decoding: key, as: UTF8.self)
    }

    /// Takes parameters, which are not kept (RFC 9651, section 4.2.3.2). Returns whether they are well formed.
    mutating func parameters() -> Bool {
        while take(";") {
            skipSpaces()
            guard key() != nil else { return false }
            if take("="), bareItem() == nil { return false }
        }
        return true
    }

    /// Takes an inner list (RFC 9651, section 4.2.1.2).
    mutating func innerList() -> StructuredDictionary.Value? {
        guard take("(") else { return nil }
        while index < bytes.count {
            skipSpaces()
            if take(")") { return .other }
            guard bareItem() != nil, parameters(), isAt(" ") || isAt(")") else { return nil }
        }
        return nil
    }

    /// Takes an item without its parameters (RFC 9651, section 4.2.3.1).
    mutating func bareItem() -> StructuredDictionary.Value? {
        guard let first = next else { return nil }
        switch first {
        case UInt8(ascii: "-"), 0x30...0x39: return number()
        case UInt8(ascii: "\""): return string() ? .string : nil
        case UInt8(ascii: ":"): return byteSequence() ? .other : nil
        case UInt8(ascii: "?"): return boolean()
        case UInt8(ascii: "@"):
            index += 1
            guard case .integer? = number() else { return nil }
            return .other
        case UInt8(ascii: "%"): return displayString() ? .other : nil
        case UInt8(ascii: "*"), 0x41...0x5A, 0x61...0x7A:
            _ = takeAll { FieldScanner.isTokenByte($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") }
            return .other
        default: return nil
        }
    }

    /// Takes an integer of at most 15 digits, or a decimal with at most 12 and 3 (RFC 9651, section 4.2.4).
    private mutating func number() -> StructuredDictionary.Value? {
        let isNegative = take("-")
        let digits = takeAll(where: Self.isDigit)
        guard !digits.isEmpty, digits.count <= 15 else { return nil }
        if take(".") {
            let fraction = takeAll(where: Self.isDigit)
            return digits.count <= 12 && (1...3).contains(fraction.count) ? .other : nil
        }
        let number = digits.reduce(Int64(0)) { $0 * 10 + Int64($1 - 0x30) }
        return .integer(isNegative ? -number : number)
    }

    private mutating func boolean() -> StructuredDictionary.Value? {
        index += 1
        if take("1") { return .boolean(true) }
        return take("0") ? .boolean(false) : nil
    }

    private mutating func string() -> Bool {
        index += 1
        while let byte = next {
            index += 1
            switch byte {
            case UInt8(ascii: "\""): return true
            case UInt8(ascii: "\\"): guard take("\"") || take("\\") else { return false }
            case 0x20...0x7E: break
            default: return false
            }
        }
        return false
    }

    private mutating func byteSequence() -> Bool {
        index += 1
        _ = takeAll { byte in
            Self.isDigit(byte) || Self.isLowercase(byte | 0x20) || "+/=".utf8.contains(byte)
        }
        return take(":")
    }

    private mutating func displayString() -> Bool {
        index += 1
        guard take("\"") else { return false }
        while let byte = next {
            index += 1
            switch byte {
            case UInt8(ascii: "\""): return true
            case UInt8(ascii: "%"):
                for _ in 0..<2 {
                    guard let digit = next, Self.isDigit(digit) || 0x61...0x66 ~= digit else { return false }
                    index += 1
                }
            case 0x20...0x7E: break
            default: return false
            }
        }
        return false
    }
}
