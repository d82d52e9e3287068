import CurlEngine
import TrellisCore

/// The file name in a `Content-Disposition` (RFC 6266).
struct ContentDisposition: Hashable, Sendable {
    /// The file name as the sender gave it, which is not safe: see ``FileName``.
    let fileName: String?

    /// Reads a value as far as it is well-formed.
    init(_ text: String) {
        var rest = Array(text.utf8)[...]
        var plain: String?
        var extended: String?
        // Before the first semicolon is the disposition type, which does not matter here.
        while let start = rest.firstIndex(of: UInt8(ascii: ";")) {
            rest = rest[(start + 1)...].drop(while: Self.isSpace)
            let name = rest.prefix { FieldScanner.isTokenByte($0) }
            rest = rest[name.endIndex...].drop(while: Self.isSpace)
            guard rest.first == UInt8(ascii: "=") else { continue }
            rest = rest.dropFirst().drop(while: Self.isSpace)
            let value = rest.first == UInt8(ascii: "\"") ? Self.quoted(&rest) : Self.unquoted(&rest)
            // The first parameter of each name counts, and `filename*` has precedence over `filename` (RFC 6266, section 4.3).
            switch String(decoding: name, as: UTF8.self).lowercasedASCII() {
            case "filename" where plain == nil: plain = String(decoding: value, as: UTF8.self)
            case "filename*" where extended == nil: extended = PercentEncoding.extendedValue(value)
            default: break
            }
        }
        fileName = extended ?? plain
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// Reads a value up to the next semicolon.
    private static func unquoted(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
        let end = rest.firstIndex(of: UInt8(ascii: ";")) ?? rest.endIndex
        var value = rest[..<end]
        while let last = value.last, isSpace(last) { value.removeLast() }
        rest = rest[end...]
        return Array(value)
    }

    /// Reads a quoted value. A backslash escapes a quote and a backslash alone: senders write `C:\folder\name`, and mean no
    /// escapes.
    private static func quoted(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
        rest.removeFirst()
        var value: [UInt8] = []
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            let isEscape = byte == UInt8(ascii: "\\") && (rest.first == byte || rest.first == UInt8(ascii: "\""))
            value.append(isEscape ? rest.removeFirst() : byte)
        }
        return value
    }
}
