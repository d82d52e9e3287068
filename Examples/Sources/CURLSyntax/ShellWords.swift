/// The words of a command, as a shell separates them: quotes, escapes and `$'…'`, but no variables and no patterns.
public enum ShellWords {
    /// Returns the words of a command that was copied from a browser or a page.
    ///
    /// - Throws: ``UsageFailure`` for a quote without its end.
    public static func words(_ command: String) throws -> [String] {
        var words: [String] = [], word: String.UnicodeScalarView?
        var rest = Substring(command).unicodeScalars
        while let scalar = rest.popFirst() {
            switch scalar {
            case " ", "\t", "\n", "\r":
                if let whole = word { words.append(String(whole)) }
                word = nil
            case "'": word = (word ?? .init()) + (try quoted(&rest, by: "'") { _, _ in nil })
            case "\"":
                word =
                    (word ?? .init())
                    + (try quoted(&rest, by: "\"") { escaped, _ in
                        escaped == "\n"
                            ? "" : "\\\"$`".unicodeScalars.contains(escaped) ? String(escaped) : "\\\(escaped)"
                    })
            case "$" where rest.first == "'":
                rest = rest.dropFirst()
                word = (word ?? .init()) + (try quoted(&rest, by: "'", ansi))
            case "\\":
                guard let escaped = rest.popFirst() else { break }
                if escaped == "\r", rest.first == "\n" { rest = rest.dropFirst() }
                if escaped != "\n", escaped != "\r" { word = (word ?? .init()) + String(escaped).unicodeScalars }
            default: word = (word ?? .init()) + String(scalar).unicodeScalars
            }
        }
        if let word { words.append(String(word)) }
        return words
    }

    private typealias Escape = (Unicode.Scalar, inout Substring.UnicodeScalarView) -> String?

    /// Returns the text up to a quote. `escape` returns what a backslash and the scalar after it stand for; `nil`: no escapes.
    private static func quoted(
        _ rest: inout Substring.UnicodeScalarView, by quote: Unicode.Scalar, _ escape: Escape
    ) throws -> String.UnicodeScalarView {
        var text = String.UnicodeScalarView()
        while let scalar = rest.popFirst() {
            if scalar == quote { return text }
            guard scalar == "\\", let next = rest.first, quote == "\"" || escape(next, &rest) != nil else {
                text.append(scalar)
                continue
            }
            rest = rest.dropFirst()
            text += (escape(next, &rest) ?? "").unicodeScalars
        }
        throw UsageFailure("The command has no end: a quote \(quote) is missing.")
    }

    /// Returns what an escape of `$'…'` stands for. Browsers write `\u0021` and `\x21`.
    private static func ansi(_ scalar: Unicode.Scalar, _ rest: inout Substring.UnicodeScalarView) -> String? {
        let escapes: [Unicode.Scalar: String] = [
            "n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", "\"": "\"", "0": "\0",
        ]
        guard let digits = ["u": 4, "x": 2, "U": 8][String(scalar)] else { return escapes[scalar] ?? "\\\(scalar)" }
        let isAfterLetter = rest.first == scalar
        let hex = (isAfterLetter ? rest.dropFirst() : rest).prefix(digits).prefix { $0.properties.isASCIIHexDigit }
        guard let value = UInt32(String(hex), radix: 16), let character = Unicode.Scalar(value) else {
            return "\\\(scalar)"
        }
        if !isAfterLetter { rest = rest.dropFirst(hex.count) }
        return String(character)
    }
}
