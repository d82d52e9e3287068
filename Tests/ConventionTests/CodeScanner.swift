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

    /// Returns whether the byte after the current one is `byte`.
    private func isFollowed(by byte: UInt8) -> Bool { position + 1 < bytes.count && bytes[position + 1] == byte }

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
        let (slash, asterisk, hash, quote): (UInt8, UInt8, UInt8, UInt8) = (47, 42, 35, 34)
        let (opening, closing): (UInt8, UInt8) = (40, 41)
        while position < bytes.count {
            let byte = bytes[position]
            if byte == slash, isFollowed(by: slash) {
                while position < bytes.count, bytes[position] != 10 { blank() }
            } else if byte == slash, isFollowed(by: asterisk) {
                while position < bytes.count, !isAt("*/") { blank() }
                blank(2)
            } else if byte == hash || byte == quote, let hashes = stringStart() {
                scanString(hashes)
            } else {
                if byte == opening { depth += 1 }
                if byte == closing {
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
