/// Watches where a JSON text ends, without reading it: a line feed outside of all brackets and strings, after something
/// that is no white space.
struct JSONTextScan {
    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    private(set) var isBlank = true

    /// Takes the next byte; `true` where the text has ended with it.
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
        // One too many cannot be repaired: the text then ends where the next one begins.
        case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
        default: break
        }
        isBlank = false
        return false
    }
}
