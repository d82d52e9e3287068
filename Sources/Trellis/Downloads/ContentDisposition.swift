import CurlEngine

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
            case "filename*" where extended == nil: extended = Self.extended(value)
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

    /// Decodes a value such as `UTF-8'en'a%20name` (RFC 8187, section 3.2); returns `nil` if it is malformed or of another
    /// charset.
    private static func extended(_ value: [UInt8]) -> String? {
        let parts = value.split(separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        guard let bytes = PercentDecoding.bytes(parts[2]) else { return nil }
        switch String(decoding: parts[0], as: UTF8.self).lowercasedASCII() {
        case "utf-8": return String(validating: bytes, as: UTF8.self)
        case "iso-8859-1": return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        default: return nil
        }
    }
}

/// The decoding of percent-encoded bytes in text.
enum PercentDecoding {
    /// Returns the decoded bytes; `nil` if an escape is malformed.
    static func bytes(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = Array(text)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst()?.hexValue, let low = rest.popFirst()?.hexValue else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// Returns the decoded text; `nil` if an escape is malformed or the bytes are not UTF-8.
    static func text(_ text: String) -> String? { bytes(text.utf8).flatMap { String(validating: $0, as: UTF8.self) } }
}
