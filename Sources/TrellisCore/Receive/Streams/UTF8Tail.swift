import CurlEngine

/// The incomplete code point at the end of a piece of UTF-8, which may be completed by the next piece.
enum UTF8Tail {
    /// Returns the number of bytes at the end, three at most, that are the beginning of a code point and can still be completed.
    ///
    /// Only bytes that can still be completed are counted, as table 3-7 of the Unicode Standard lists them: if the pieces are cut
    /// before such bytes and repaired one by one, they make the same text as all bytes together.
    static func length(of bytes: Span<UInt8>) -> Int {
        let count = bytes.count
        var length = 1
        while length <= min(3, count) {
            let byte = bytes[count - length]
            guard byte & 0xC0 == 0x80 else {
                guard expectedLength(leadingByte: byte) > length else { return 0 }
                return length == 1 || mayFollow(byte, bytes[count - length + 1]) ? length : 0
            }
            length += 1
        }
        return 0
    }

    /// Returns the length of the code point that a byte leads, in bytes; 0 for a byte that does not lead more than one byte.
    private static func expectedLength(leadingByte byte: UInt8) -> Int {
        switch byte {
        case 0xC2...0xDF: 2
        case 0xE0...0xEF: 3
        case 0xF0...0xF4: 4
        default: 0
        }
    }

    /// Returns whether a continuation byte may follow a leading byte. Second bytes of overlong forms, surrogates and values beyond
    /// U+10FFFF may not.
    private static func mayFollow(_ leader: UInt8, _ second: UInt8) -> Bool {
        switch leader {
        case 0xE0: second >= 0xA0
        case 0xED: second <= 0x9F
        case 0xF0: second >= 0x90
        case 0xF4: second <= 0x8F
        default: true
        }
    }
}
