/// A scanner that distinguishes code from comments and strings, approximately as the compiler does.
struct CodeScanner {
    private let bytes: [UInt8]
    private var position = 0
    private var result: [UInt8] = []

    init(_ text: String) { bytes = Array(text.utf8) }

    /// Returns the text with spaces in place of comments and strings.
    mutating func run() -> String {
        scanCode(until: nil)
        return String(decoding: result, as: UTF8.self)
    }

    private func isAt(_ text: String) -> Bool { bytes[position...].starts(with: text.utf8) }

    private mutating func blank(_ count: Int = 1) {
        for _ in 0..<min(count, bytes.count - position) {
            result.append(bytes[position] == 10 ? 10 : 32)
            position += 1
        }
    }

    private mutating func keep() {
        result.append(bytes[position])
        position += 1
    }

    /// Scans code up to the end, or to the bracket that closes an interpolation.
    private mutating func scanCode(until end: UInt8?) {
        var depth = 0
        while position < bytes.count {
            if isAt("//") {
                while position < bytes.count, bytes[position] != 10 { blank() }
            } else if isAt("/*") {
                while position < bytes.count, !isAt("*/") { blank() }
                blank(2)
            } else if let hashes = stringStart() {
                scanString(hashes)
            } else {
                if bytes[position] == UInt8(ascii: "(") { depth += 1 }
                if bytes[position] == UInt8(ascii: ")") {
                    if depth == 0, end != nil { return keep() }
                    depth -= 1
                }
                keep()
            }
        }
    }

    /// Returns the number of hash signs before the quote if a string begins here; `nil` otherwise.
    private func stringStart() -> Int? {
        var index = position
        while index < bytes.count, bytes[index] == UInt8(ascii: "#") { index += 1 }
        return index < bytes.count && bytes[index] == UInt8(ascii: "\"") ? index - position : nil
    }

    private mutating func scanString(_ hashes: Int) {
        let marks = String(repeating: "#", count: hashes)
        blank(hashes)
        let quote = isAt("\"\"\"") ? "\"\"\"" : "\""
        blank(quote.utf8.count)
        while position < bytes.count {
            if isAt(quote + marks) { return blank(quote.utf8.count + hashes) }
            if isAt("\\" + marks + "(") {
                blank(1 + hashes)
                keep()
                scanCode(until: UInt8(ascii: ")"))
            } else if isAt("\\" + marks) {
                blank(2 + hashes)
            } else {
                blank()
            }
        }
    }
}
