import TerminalKit
import Trellis

/// A printer that indents and colours JSON token by token, so that order, repeated names, numbers and escapes stay unchanged.
struct JSONPrinter {
    let terminal: Terminal

    /// Returns the indented text; `nil` if the bytes are not JSON.
    func pretty(_ json: Data) -> String? {
        // The check has ensured that the tokens are well-formed.
        guard (try? JSONGrammar.check(json)) != nil else { return nil }
        var walker = Walker(bytes: [UInt8](json), terminal: terminal)
        walker.walk()
        return walker.text
    }

    /// A walk over the tokens of a valid JSON text.
    private struct Walker {
        let bytes: [UInt8]
        let terminal: Terminal
        var text = ""
        private var position = 0
        private var depth = 0

        init(bytes: [UInt8], terminal: Terminal) {
            self.bytes = bytes
            self.terminal = terminal
        }

        mutating func walk() {
            while let byte = nextByte() {
                switch byte {
                case UInt8(ascii: "{"), UInt8(ascii: "["): open(byte)
                case UInt8(ascii: "}"), UInt8(ascii: "]"): close(byte)
                case UInt8(ascii: ","):
                    position += 1
                    text += ","
                    newLine()
                case UInt8(ascii: ":"):
                    position += 1
                    text += ": "
                case UInt8(ascii: "\""):
                    let string = token(end: endOfString())
                    text += terminal.styled(string, nextByte() == UInt8(ascii: ":") ? .cyan : .green)
                default: text += terminal.styled(token(end: endOfWord()), .magenta)
                }
            }
        }

        /// Moves to the next byte that is not white space, and returns that byte; `nil` at the end.
        private mutating func nextByte() -> UInt8? {
            while position < bytes.count, [0x20, 0x09, 0x0a, 0x0d].contains(bytes[position]) { position += 1 }
            return position < bytes.count ? bytes[position] : nil
        }

        private mutating func open(_ byte: UInt8) {
            position += 1
            text.unicodeScalars.append(Unicode.Scalar(byte))
            if let next = nextByte(), next == UInt8(ascii: "}") || next == UInt8(ascii: "]") {
                position += 1
                text.unicodeScalars.append(Unicode.Scalar(next))
            } else {
                depth += 1
                newLine()
            }
        }

        private mutating func close(_ byte: UInt8) {
            position += 1
            depth -= 1
            newLine()
            text.unicodeScalars.append(Unicode.Scalar(byte))
        }

        private mutating func newLine() { text += "\n" + String(repeating: "  ", count: max(0, depth)) }

        private mutating func token(end: Int) -> String {
            defer { position = end }
            return String(decoding: bytes[position..<end], as: UTF8.self)
        }

        private func endOfString() -> Int {
            var end = position + 1
            while end < bytes.count, bytes[end] != UInt8(ascii: "\"") {
                end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1
            }
            return min(bytes.count, end + 1)
        }

        private func endOfWord() -> Int {
            // The walk takes at least one byte, so that it always makes progress.
            bytes[(position + 1)...].firstIndex { " \t\r\n,:{}[]\"".utf8.contains($0) } ?? bytes.count
        }
    }
}
