public import FoundationEssentials

/// The file of `-K`: options on lines, as curl reads them.
///
/// A line is `option value`, `option = value` or `option: value`, with or without dashes. A value in quotes has the escapes `\\`, `\"`,
/// `\t`, `\n`, `\r` and `\v`. A line that begins with `#` is a comment.
public enum ConfigurationFile {
    /// Returns the arguments that the file stands for.
    public static func arguments(in bytes: Data) throws -> [String] {
        var arguments: [String] = []
        for line in bytes.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            var rest = Substring(String(decoding: line, as: UTF8.self)).trimmed
            guard let first = rest.utf8.first, first != UInt8(ascii: "#") else { continue }
            let end = rest.utf8.firstIndex { " \t=:".utf8.contains($0) } ?? rest.endIndex
            let name = String(rest[..<end])
            arguments.append(name.utf8.first == UInt8(ascii: "-") ? name : "--\(name)")
            rest = rest[end...].trimmed
            if let mark = rest.utf8.first, "=:".utf8.contains(mark) { rest = rest.dropFirst().trimmed }
            guard !rest.isEmpty else { continue }
            arguments.append(rest.utf8.first == UInt8(ascii: "\"") ? unquoted(rest) : String(rest))
        }
        return arguments
    }

    private static func unquoted(_ text: Substring) -> String {
        var value = String.UnicodeScalarView(), isEscaped = false
        for scalar in text.unicodeScalars.dropFirst() {
            if isEscaped {
                let escapes: [Unicode.Scalar: Unicode.Scalar] = ["t": "\t", "n": "\n", "r": "\r", "v": "\u{B}"]
                value.append(escapes[scalar] ?? scalar)
                isEscaped = false
            } else if scalar == "\\" {
                isEscaped = true
            } else if scalar == "\"" {
                break
            } else {
                value.append(scalar)
            }
        }
        return String(value)
    }
}

extension Substring {
    /// The text without blanks and tabs around it.
    fileprivate var trimmed: Substring {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        guard let start = utf8.firstIndex(where: { !isBlank($0) }), let end = utf8.lastIndex(where: { !isBlank($0) })
        else { return "" }
        return self[start...end]
    }
}
