extension URLEncodedFormEncoder {
    /// The ASCII characters that are written unchanged; all other characters become the percent-encoded bytes of their UTF-8
    /// form, in upper case (RFC 3986, section 2.1).
    ///
    /// `%`, `&`, `+`, `#` and `=`, spaces and control characters are always encoded, even if they are listed: otherwise names and
    /// values could not be separated again.
    public struct AllowedCharacters: Sendable, Hashable {
        /// The allowed bytes below 64, one bit each.
        private var low: UInt64 = 0
        /// The allowed bytes from 64 to 127, one bit each.
        private var high: UInt64 = 0

        /// Letters, digits and `-._~/?`, which a query may hold as they are (RFC 3986, section 3.4).
        public static let `default` = AllowedCharacters(alphanumerics + "-._~/?")
        /// Letters, digits and `-._~` (RFC 3986, section 2.3).
        public static let unreserved = AllowedCharacters(alphanumerics + "-._~")
        /// Letters, digits and `*-._`, as in the forms of browsers (WHATWG URL standard, section 5.2).
        public static let html = AllowedCharacters(alphanumerics + "*-._")

        private static let alphanumerics = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

        /// Creates a set from the characters of a text, without the characters that are always encoded.
        public init(_ characters: String) {
            for byte in characters.utf8 where byte > 0x20 && byte < 0x7f && !"%&+#=".utf8.contains(byte) {
                if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte - 64) }
            }
        }

        /// Returns a set of the characters in either set.
        public func union(_ other: AllowedCharacters) -> AllowedCharacters {
            var result = self
            result.low |= other.low
            result.high |= other.high
            return result
        }

        /// Returns `true` if a byte of UTF-8 is written unchanged.
        func contains(_ byte: UInt8) -> Bool {
            if byte < 64 { low & 1 << UInt64(byte) != 0 } else { byte < 128 && high & 1 << UInt64(byte - 64) != 0 }
        }

        /// Appends the encoded form of a text to a buffer of bytes.
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
