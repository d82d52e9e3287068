import CurlEngine
import TrellisCore

/// A command line for a POSIX shell that calls curl.
struct CURLCommand {
    /// The options with their arguments, one group for each option.
    private var groups: [[String]] = [["curl"]]
    /// The commands whose output curl reads, already quoted, in the order of the pipe.
    var input: [String] = []
    /// The comments after the command line, for details that the command line cannot express.
    var remarks: [String] = []

    /// Adds an option with its arguments, which are quoted later.
    mutating func add(_ arguments: String...) { groups.append(arguments) }

    /// Adds an option with its arguments, which are quoted later.
    mutating func add(_ option: [String]) { groups.append(option) }

    /// Returns the command line, with each option on a line of its own if `isMultiline` is `true`.
    func text(isMultiline: Bool) -> String {
        let options = groups.map { $0.map(ShellQuoting.quote).joined(separator: " ") }
        let command = (input + [options.joined(separator: isMultiline ? " \\\n    " : " ")]).joined(separator: " | ")
        // A line break would end the comment.
        let remarks = remarks.map { $0.replacing(byte: "\n", with: " ") }.joined(separator: "; ")
        return remarks.isEmpty ? command : "\(command) # \(remarks)"
    }
}

/// The quoting of words for a POSIX shell (IEEE 1003.1, "Shell Command Language", section 2.2).
enum ShellQuoting {
    /// Returns the word whose value is the text: unquoted if no character of the text has a meaning for a shell, in single quotes
    /// otherwise.
    static func quote(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "_@%+=:,./-".utf8.contains(byte)
            }
        }
        if isPlain, !text.isEmpty { return text }
        // An argument of a program cannot contain a NUL.
        return "'" + text.replacing(byte: "\0", with: "").replacing(byte: "'", with: "'\\''") + "'"
    }

    /// Returns a command that prints the bytes: `printf`, which every shell has and which takes any number of bytes.
    static func printing(_ bytes: some Sequence<UInt8>) -> String {
        var format: [UInt8] = []
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "%"): format += "%%".utf8
            case UInt8(ascii: "\\"): format += "\\\\".utf8
            case UInt8(ascii: "\n"): format += "\\n".utf8
            // A leading hyphen would be mistaken for an option.
            case UInt8(ascii: "-") where format.isEmpty: format += "\\055".utf8
            case UInt8(ascii: "'"), 0..<0x20, 0x7F...: format += octal(byte)
            default: format.append(byte)
            }
        }
        return "printf '" + String(decoding: format, as: UTF8.self) + "'"
    }

    private static func octal(_ byte: UInt8) -> [UInt8] {
        [UInt8(ascii: "\\"), 48 + byte >> 6, 48 + byte >> 3 & 7, 48 + byte & 7]
    }

    /// Returns the bytes as text if a command line can show them as they are: UTF-8 without control characters except line feeds
    /// and tabs, and not too long for one argument of a program (128 KiB on Linux). Returns `nil` otherwise.
    static func showableText(_ bytes: some Collection<UInt8>) -> String? {
        guard bytes.count <= 100_000, let text = String(validating: bytes, as: UTF8.self) else { return nil }
        let isShowable = text.unicodeScalars.allSatisfy { scalar in
            scalar == "\n" || scalar == "\t" || !(scalar.value < 0x20 || 0x7F...0x9F ~= scalar.value)
        }
        return isShowable ? text : nil
    }
}
