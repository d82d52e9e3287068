import TrellisCore

/// Texts of servers as messages show them.
enum ShownText {
    /// The largest number of characters of a text.
    static let limit = 300

    /// Returns the text, shortened, in one line of printable characters and without some secrets.
    ///
    /// - Parameters:
    ///   - secrets: The secrets that the text may repeat. Short ones are not looked for: they could be parts of any word.
    ///   - limit: The largest number of characters.
    static func line(_ text: String, without secrets: [String] = [], upTo limit: Int = limit) -> String {
        // Secrets first: an escaped or shortened secret would not be found. A scalar has four bytes at most.
        let secrets = secrets.filter { $0.utf8.count >= 6 }.sorted { $0.utf8.count > $1.utf8.count }
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while bytes.count <= 4 * limit, let byte = rest.first {
            if let secret = secrets.first(where: { rest.starts(with: $0.utf8) }) {
                bytes += "REDACTED".utf8
                rest = rest.dropFirst(secret.utf8.count)
            } else {
                bytes.append(byte)
                rest = rest.dropFirst()
            }
        }
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

    /// Returns a URL as ``line(_:without:)`` does, without the secrets in it.
    static func url(_ text: String) -> String { line(URLRedaction.redact(text)) }
}
