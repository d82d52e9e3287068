public import FoundationEssentials

/// The file of `-K`: options on lines, as curl reads them.
///
/// A line is `option value`, `option = value` or `option: value`, with or without dashes. A value in quotes has the escapes `\\`, `\"`,
/// `\t`, `\n`, `\r` and `\v`. A line that begins with `#` is a comment, and so is a `#` after a blank and a value without quotes.
public enum ConfigurationFile {
    /// Returns the arguments that each line of the file stands for. An option never has its value on another line.
    public static func arguments(in bytes: Data) -> [[String]] {
        var lines: [[String]] = []
        for line in bytes.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            var rest = Substring(String(decoding: line, as: UTF8.self)).trimmed
            guard let first = rest.utf8.first, first != UInt8(ascii: "#") else { continue }
            let end = rest.utf8.firstIndex { " \t=:".utf8.contains($0) } ?? rest.endIndex
            let name = String(rest[..<end])
            lines.append([name.utf8.first == UInt8(ascii: "-") ? name : "--\(name)"])
            rest = rest[end...].trimmed
            if let mark = rest.utf8.first, "=:".utf8.contains(mark) { rest = rest.dropFirst().trimmed }
            let value = rest.utf8.first == UInt8(ascii: "\"") ? unquoted(rest) : String(rest.withoutComment)
            if !rest.withoutComment.isEmpty { lines[lines.count - 1].append(value) }
        }
        return lines
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
    /// The text before a `#` after a blank, or before one at its beginning that a blank follows.
    fileprivate var withoutComment: Substring {
        var isAfterBlank = utf8.dropFirst().first.map { " \t".utf8.contains($0) } ?? true
        for index in utf8.indices {
            if isAfterBlank, utf8[index] == UInt8(ascii: "#") { return self[..<index].trimmed }
            isAfterBlank = utf8[index] == 0x20 || utf8[index] == 0x09
        }
        return self
    }

    /// The text without blanks and tabs around it.
    fileprivate var trimmed: Substring {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        guard let start = utf8.firstIndex(where: { !isBlank($0) }), let end = utf8.lastIndex(where: { !isBlank($0) })
        else { return "" }
        return self[start...end]
    }
}
