import CurlEngine
import TrellisCore

/// The parts of a query in the format of forms (`application/x-www-form-urlencoded` of the URL standard).
enum FormText {
    /// Returns a text percent-encoded, with `%20` for spaces (RFC 9421, section 2.2.8).
    static func encoded(_ text: String) -> String { PercentEncoding.encode(text, plain: "*-._") }

    /// Returns a part of a query without its encoding. A percent sign without two digits stands for itself.
    static func decoded(_ text: some Collection<UInt8>) -> String {
        String(decoding: bytes(text, plusIsSpace: true), as: UTF8.self)
    }

    /// Returns the bytes of a part of a query. A percent sign without two digits stands for itself.
    static func bytes(_ text: some Collection<UInt8>, plusIsSpace: Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2).compactMap(\.hexValue)
            if byte == UInt8(ascii: "%"), digits.count == 2 {
                bytes.append(digits[0] << 4 | digits[1])
                rest = rest.dropFirst(2)
            } else {
                bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? 0x20 : byte)
            }
        }
        return bytes
    }

    /// Returns the names and values of a query without their encoding.
    static func pairs(_ query: String) -> [(name: String, value: String)] {
        query.split(atByte: "&").map { pair in
            let name = pair.utf8.prefix { $0 != UInt8(ascii: "=") }
            return (decoded(name), decoded(pair.utf8.dropFirst(name.count + 1)))
        }
    }
}
