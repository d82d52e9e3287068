import CurlEngine

/// Percent-encoding (RFC 3986, section 2.1).
package enum PercentEncoding {
    /// Returns text in which every byte except letters, digits and the bytes of `plain` is encoded, with upper-case hexadecimal digits.
    ///
    /// - Parameter plain: Further bytes that stand for themselves. The default is the unreserved marks (RFC 3986, section 2.3).
    package static func encode(_ text: String, plain: String = "-._~") -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        let plain = Set(plain.utf8)
        let bytes = text.utf8.flatMap { byte -> [UInt8] in
            let isLetter = (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte) || (0x30...0x39).contains(byte)
            return isLetter || plain.contains(byte) ? [byte] : [0x25, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the decoded text; `nil` if a percent sign is not followed by two hexadecimal digits, or the bytes are not UTF-8.
    package static func decode(_ text: some StringProtocol) -> String? {
        bytes(Substring(text).utf8).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Returns the decoded bytes; `nil` if a percent sign is not followed by two hexadecimal digits.
    static func bytes(_ text: some Collection<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text[...]
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

    /// Returns the text of a parameter whose name ends with `*`, such as `UTF-8'en'a%20name` (RFC 8187, section 3.2); `nil` if it is
    /// malformed or of another charset than UTF-8 and ISO-8859-1.
    package static func extendedValue(_ value: some Collection<UInt8>) -> String? {
        let parts = value.split(separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = bytes(parts[2]) else { return nil }
        switch String(decoding: parts[0], as: UTF8.self).lowercasedASCII() {
        case "utf-8": return String(validating: bytes, as: UTF8.self)
        case "iso-8859-1": return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        default: return nil
        }
    }
}

extension UInt8 {
    /// The value of a hexadecimal digit in ASCII; `nil` of another byte.
    package var hexValue: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x37
        case 0x61...0x66: self - 0x57
        default: nil
        }
    }
}
