/// The text of curl's `--write-out`: `%{name}` is a value, `%%` a percent sign, and `\n`, `\r` and `\t` are what they are in C.
public struct WriteOutTemplate: Sendable {
    /// A piece of the text.
    public enum Piece: Sendable, Hashable {
        /// Text that is printed as it is.
        case text(String)
        /// The value of a variable: `http_code`, or a field of the response's head for `header{name}`.
        case variable(String)
        /// The value of a field: `%header{name}`.
        case header(String)
        /// The rest goes to standard error: `%{stderr}`.
        case standardError
        /// The rest goes to standard output: `%{stdout}`.
        case standardOutput
    }

    /// The pieces in order.
    public let pieces: [Piece]

    /// Reads a text. A percent sign that begins nothing stands for itself.
    public init(_ text: String) {
        var pieces: [Piece] = [], plain = String.UnicodeScalarView()
        var rest = Substring(text).unicodeScalars
        func end() {
            if !plain.isEmpty { pieces.append(.text(String(plain))) }
            plain = .init()
        }
        while let scalar = rest.popFirst() {
            if scalar == "\\", let next = rest.first {
                rest = rest.dropFirst()
                let escapes: [Unicode.Scalar: Unicode.Scalar] = ["n": "\n", "r": "\r", "t": "\t", "\\": "\\"]
                if let known = escapes[next] { plain.append(known) } else { plain += [scalar, next] }
            } else if scalar == "%", rest.first == "%" {
                rest = rest.dropFirst()
                plain.append("%")
            } else if scalar == "%", let name = Self.name(after: "{", in: &rest) {
                end()
                switch name {
                case "stderr": pieces.append(.standardError)
                case "stdout": pieces.append(.standardOutput)
                default: pieces.append(.variable(name))
                }
            } else if scalar == "%", let name = Self.name(after: "header{", in: &rest) {
                end()
                pieces.append(.header(name))
            } else {
                plain.append(scalar)
            }
        }
        end()
        self.pieces = pieces
    }

    /// Returns the text between an opening mark and `}`, if the rest begins with the mark, and removes both from the rest.
    private static func name(after mark: String, in rest: inout Substring.UnicodeScalarView) -> String? {
        guard rest.starts(with: mark.unicodeScalars), let end = rest.firstIndex(of: "}") else { return nil }
        defer { rest = rest[rest.index(after: end)...] }
        return String(rest.dropFirst(mark.unicodeScalars.count)[..<end])
    }
}
