import CurlEngine

/// Texts of servers as messages show them.
enum ShownText {
    /// The largest number of characters of a text.
    static let limit = 300

    /// Returns the text, shortened, in one line of printable characters and without some secrets.
    ///
    /// - Parameter secrets: The secrets that the text may repeat. Short ones are not looked for: they could be parts of any word.
    static func line(_ text: String, without secrets: [String] = []) -> String {
        // Secrets first: an escaped or shortened secret would not be found.
        var bytes = Array(text.utf8)
        for secret in secrets where secret.utf8.count >= 6 { replace(Array(secret.utf8), in: &bytes) }
        var shown = ""
        for (index, scalar) in String(decoding: bytes, as: UTF8.self).unicodeScalars.enumerated() {
            guard index < limit else { return shown + "…" }
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
                shown += "\\u{\(String(scalar.value, radix: 16))}"
            default: shown.unicodeScalars.append(scalar)
            }
        }
        return shown
    }

    private static func replace(_ secret: [UInt8], in bytes: inout [UInt8]) {
        var result: [UInt8] = []
        var rest = bytes[...]
        while let range = rest.firstRange(of: secret) {
            result += rest[..<range.lowerBound]
            result += "REDACTED".utf8
            rest = rest[range.upperBound...]
        }
        bytes = result + rest
    }
}
