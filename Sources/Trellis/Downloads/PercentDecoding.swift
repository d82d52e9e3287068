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
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            // `UInt8` accepts a sign as well.
            guard digits.utf8.count == 2, digits.allSatisfy(\.isHexDigit), let number = UInt8(digits, radix: 16) else {
                return nil
            }
            bytes.append(number)
            rest = rest.dropFirst(2)
        }
        return bytes
    }

    /// Returns the decoded text; `nil` if an escape is malformed or the bytes are not UTF-8.
    static func text(_ text: String) -> String? { bytes(text.utf8).flatMap { String(validating: $0, as: UTF8.self) } }
}
