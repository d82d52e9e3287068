extension URLEncodedFormEncoder {
    /// The ASCII characters that stand for themselves; every other one becomes the percent-encoded bytes of its UTF-8 form,
    /// in upper case (RFC 3986, section 2.1).
    ///
    /// `%`, `&`, `+`, `#` and `=`, spaces and control characters are always encoded, whatever is allowed: without that,
    /// names and values could not be told apart again.
    public struct AllowedCharacters: Sendable, Hashable {
        private var low: UInt64 = 0
        private var high: UInt64 = 0

        /// Letters, digits and `-._~/?`, which a query may hold as they are (RFC 3986, section 3.4).
        public static let `default` = AllowedCharacters(alphanumerics + "-._~/?")
        /// Letters, digits and `-._~` (RFC 3986, section 2.3).
        public static let unreserved = AllowedCharacters(alphanumerics + "-._~")
        /// Letters, digits and `*-._`, as in the forms of browsers (WHATWG URL standard, section 5.2).
        public static let html = AllowedCharacters(alphanumerics + "*-._")

        private static let alphanumerics = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

        /// The characters of a text, without those that are always encoded.
        public init(_ characters: String) {
            for byte in characters.utf8 where byte > 0x20 && byte < 0x7f && !"%&+#=".utf8.contains(byte) {
                if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte - 64) }
            }
        }

        /// These and others.
        public func union(_ other: AllowedCharacters) -> AllowedCharacters {
            var result = self
            result.low |= other.low
            result.high |= other.high
            return result
        }

        /// Whether a byte of UTF-8 stands for itself.
        func contains(_ byte: UInt8) -> Bool {
            if byte < 64 { low & 1 << UInt64(byte) != 0 } else { byte < 128 && high & 1 << UInt64(byte - 64) != 0 }
        }

        /// Adds the encoded form of a text to some bytes.
        func encode(_ text: String, space: SpaceEncoding, into bytes: inout [UInt8]) {
            for byte in text.utf8 {
                if contains(byte) {
                    bytes.append(byte)
                } else if byte == 0x20, case .plusReplaced = space {
                    bytes.append(UInt8(ascii: "+"))
                } else {
                    bytes.append(UInt8(ascii: "%"))
                    bytes.append(Self.digit(byte >> 4))
                    bytes.append(Self.digit(byte & 15))
                }
            }
        }

        private static func digit(_ value: UInt8) -> UInt8 {
            value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
        }
    }
}
