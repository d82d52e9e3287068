import FoundationEssentials

extension FormValue {
    /// A depth above the limit of the encoder, and below the limit of the stack.
    private static let deepest = 120

    /// Creates a value that the bytes of an input describe.
    init(_ choices: inout Choices, depth: Int = 0) {
        switch choices.number(below: depth < Self.deepest ? 22 : 12) {
        case 0: self = .text("")
        case 1: self = .text(choices.text())
        case 2: self = .null
        case 3: self = .bool(choices.bool())
        case 4: self = .integer(Int64(bitPattern: choices.bits()))
        case 5: self = .wide(UInt128(choices.bits()) * UInt128(choices.bits()))
        case 6: self = .double(Double(bitPattern: choices.bits()))
        case 7: self = .float(Float(Int8(bitPattern: choices.byte())) / 3)
        case 8: self = .decimal(Self.decimal(&choices))
        case 9: self = .data(Data(choices.bytes()))
        case 10: self = .date(Self.date(&choices))
        case 11: self = .nothing
        case 12: self = .array(Self.elements(&choices, depth))
        case 13: self = .list(Self.elements(&choices, depth))
        case 14, 15: self = .object(Self.members(&choices, depth))
        case 16: self = .dictionary(Self.dictionary(&choices, depth) { $0.text() })
        case 17: self = .numbered(Self.dictionary(&choices, depth) { Int(Int8(bitPattern: $0.byte())) })
        case 18: self = .optional(choices.bool() ? FormValue(&choices, depth: depth + 1) : nil)
        case 19: self = .wrapped(FormValue(&choices, depth: depth + 1), Int(choices.byte()))
        case 20: self = Self.nested(&choices, depth)
        default: self = choices.byte() == 1 ? .twice(FormValue(&choices, depth: depth + 1)) : Self.url(&choices)
        }
    }

    /// Returns a value with keys, which the top of a form needs.
    static func form(_ choices: inout Choices) -> FormValue {
        switch choices.number(below: 8) {
        case 7: FormValue(&choices)
        case 5, 6: .dictionary(dictionary(&choices, 0) { $0.text() })
        default: .object(members(&choices, 0))
        }
    }

    private static func elements(_ choices: inout Choices, _ depth: Int) -> [FormValue] {
        (0..<choices.number(below: 6)).map { _ in FormValue(&choices, depth: depth + 1) }
    }

    private static func members(_ choices: inout Choices, _ depth: Int) -> [Member] {
        var members: [Member] = []
        for _ in 0..<choices.number(below: 6) {
            var way = choices.element(of: Member.Way.allCases)
            let key = way == .plainSuper ? Member.plainSuperKey : choices.text()
            // A super encoder would continue with the value that already exists.
            if members.contains(where: { $0.key == key }) { way = .encode }
            members.append(Member(key: key, way: way, value: FormValue(&choices, depth: depth + 1)))
        }
        return members
    }

    private static func dictionary<Key: Hashable>(
        _ choices: inout Choices, _ depth: Int, _ key: (inout Choices) -> Key
    ) -> [Key: FormValue] {
        var members: [Key: FormValue] = [:]
        for _ in 0..<choices.number(below: 6) { members[key(&choices)] = FormValue(&choices, depth: depth + 1) }
        return members
    }

    /// Returns nested arrays and objects, from few bytes.
    private static func nested(_ choices: inout Choices, _ depth: Int) -> FormValue {
        let levels = choices.number(below: deepest), isObject = choices.bool()
        return (0..<levels).reduce(FormValue(&choices, depth: depth + 1)) { value, _ in
            isObject ? .object([Member(key: "k", way: .encode, value: value)]) : .array([value])
        }
    }

    private static func decimal(_ choices: inout Choices) -> Decimal {
        let sign: FloatingPointSign = choices.bool() ? .minus : .plus
        let exponent = Int(Int8(bitPattern: choices.byte()))
        return Decimal(sign: sign, exponent: exponent, significand: Decimal(choices.bits()))
    }

    /// Returns a date of the present with a precision of an eighth of a second, or any other date.
    private static func date(_ choices: inout Choices) -> Date {
        let isAny = choices.bool(), bits = choices.bits()
        return Date(
            timeIntervalSinceReferenceDate: isAny ? Double(bitPattern: bits) : Double(Int64(bitPattern: bits) >> 25) / 8
        )
    }

    private static func url(_ choices: inout Choices) -> FormValue {
        let text = choices.text()
        return URL(string: text).map { .url($0) } ?? .text(text)
    }
}
