/// A scanner for the parts of a field's value: tokens, quoted strings, lists (RFC 9110, section 5.6).
package struct FieldScanner {
    private var rest: Substring.UTF8View

    /// Creates a scanner at the first character of a text that is no white space.
    package init(_ text: some StringProtocol) {
        rest = Substring(text).utf8
        skipSpace()
    }

    /// Whether no bytes are left.
    package var isAtEnd: Bool { rest.isEmpty }

    /// Returns whether the next byte is an ASCII character.
    package func isAt(_ character: Unicode.Scalar) -> Bool { rest.first == UInt8(ascii: character) }

    /// Takes the next byte if it is an ASCII character; returns whether it is.
    package mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard isAt(character) else { return false }
        rest.removeFirst()
        return true
    }

    /// Skips spaces and tabs.
    package mutating func skipSpace() { rest = rest.drop { $0 == 0x20 || $0 == 0x09 } }

    /// Skips up to and including the next such character that is not quoted; returns `false` if there is none.
    mutating func skip(past character: Unicode.Scalar) -> Bool {
        while !rest.isEmpty {
            if take(character) { return true }
            if isAt("\"") { _ = quoted() } else { rest.removeFirst() }
        }
        return false
    }

    /// Takes a token of one or more characters; returns `nil` if there is none.
    package mutating func token() -> String? {
        let bytes = rest.prefix(while: Self.isTokenByte)
        guard !bytes.isEmpty else { return nil }
        rest = rest[bytes.endIndex...]
        return String(bytes)
    }

    /// Takes the bytes in front of the next such character, quoted or not; takes all the rest if there is none.
    package mutating func bytes(before character: Unicode.Scalar) -> Substring.UTF8View {
        let bytes = rest.prefix { $0 != UInt8(ascii: character) }
        rest = rest[bytes.endIndex...]
        return bytes
    }

    /// Takes a token or a quoted string; returns `nil` if there is neither, and for a string without an end.
    package mutating func tokenOrQuoted() -> String? { isAt("\"") ? quoted() : token() }

    /// Takes a quoted string, and returns it without quotation marks and escapes. For a string without an end, takes all the rest
    /// and returns `nil`.
    private mutating func quoted() -> String? {
        rest.removeFirst()
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: bytes, as: UTF8.self)
            case UInt8(ascii: "\\"): if let escaped = rest.popFirst() { bytes.append(escaped) }
            default: bytes.append(byte)
            }
        }
        return nil
    }

    /// Returns the elements of a comma-separated list.
    package static func elements(of text: String) -> [Substring] {
        let bytes = text.utf8.span
        var elements: [Substring] = []
        var index = 0
        while index < bytes.count, bytes[index] == 0x20 || bytes[index] == 0x09 { index += 1 }
        var start = text.utf8.index(text.startIndex, offsetBy: index)
        var isQuoted = false
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\\") where isQuoted: index += 1
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: ",") where !isQuoted:
                let comma = text.utf8.index(text.startIndex, offsetBy: index)
                elements.append(text[start..<comma])
                start = text.utf8.index(after: comma)
            default: break
            }
            index += 1
        }
        elements.append(text[start...])
        return elements
    }

    /// Returns whether a byte may be in a token (RFC 9110, section 5.6.2).
    package static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
            UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
