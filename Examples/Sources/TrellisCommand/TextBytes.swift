/// Methods that read the text of arguments as bytes: one character of Swift, such as `=` with a combining accent, may be two.
extension Substring {
    /// Returns the texts before and after the first of some ASCII characters; `nil` if there is none.
    func cut(at marks: String) -> (before: Substring, after: Substring)? {
        guard let mark = utf8.firstIndex(where: { marks.utf8.contains($0) }) else { return nil }
        return (self[..<mark], self[utf8.index(after: mark)...])
    }

    /// Returns the text before the first of some ASCII characters; the complete text if there is none.
    func before(_ marks: String) -> Substring { cut(at: marks)?.before ?? self }

    /// Returns the text after these bytes; `nil` if the text does not begin with them.
    func after(_ prefix: String) -> Substring? {
        utf8.starts(with: prefix.utf8) ? Substring(utf8.dropFirst(prefix.utf8.count)) : nil
    }

    /// The last component of a path that is not empty.
    var lastPathComponent: String? {
        utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) }
    }
}

extension String {
    /// Returns whether a URL has this scheme, given in lower case, in whatever case it is written (RFC 3986, section 3.1).
    func hasScheme(_ scheme: String) -> Bool {
        guard let written = self[...].cut(at: ":")?.before.utf8 else { return false }
        return written.elementsEqual(scheme.utf8) {
            $0 == $1 || ($0 ^ 0x20 == $1 && UInt8(ascii: "a")...UInt8(ascii: "z") ~= $1)
        }
    }

    /// The text, with the bytes that a URL cannot contain percent-encoded.
    var percentEncoded: String {
        let digits = Array("0123456789ABCDEF".utf8)
        let bytes = utf8.flatMap { byte in
            (0x21...0x7E).contains(byte) ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension StringProtocol {
    /// Returns the text with `A` to `Z` in lower case and every other byte as it is. `lowercased()` makes a `k` of the kelvin sign.
    func lowercasedASCII() -> String {
        String(decoding: utf8.map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
