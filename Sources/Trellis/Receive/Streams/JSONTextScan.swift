/// A scanner that finds the end of a JSON text without parsing the text: a line feed outside of all brackets and strings, after a
/// byte that is not white space.
struct JSONTextScan {
    /// The number of open brackets.
    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    /// Indicates whether the text has only white space so far.
    private(set) var isBlank = true

    /// Takes the next byte, and returns whether the text has ended with that byte.
    mutating func takeEnds(_ byte: UInt8) -> Bool {
        if isInString {
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isInString = false
            }
            return false
        }
        switch byte {
        case UInt8(ascii: "\n"): return depth == 0 && !isBlank
        case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): return false
        case UInt8(ascii: "\""): isInString = true
        case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
        // After a surplus closing bracket the depth is negative, and only the separator of the next text ends this one.
        case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
        default: break
        }
        isBlank = false
        return false
    }
}

extension Span<UInt8> {
    /// Indicates whether all bytes are JSON white space (RFC 8259, section 2).
    var isBlankJSON: Bool {
        for offset in 0..<count where !self[offset].isBlankJSON { return false }
        return true
    }
}

extension UInt8 {
    /// Indicates whether the byte is JSON white space, which is space, tab, LF and CR.
    var isBlankJSON: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
}
