import CurlEngine

/// The end of a piece of UTF-8 that may go on in the next piece.
enum UTF8Tail {
    /// How many bytes at the end, three at most, are the beginning of a code point and may become one.
    ///
    /// Only bytes that can still become one are counted, as table 3-7 of the Unicode Standard has them: cut before them,
    /// pieces that are repaired one by one make the same text as the whole.
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

    /// 0 for what leads nothing longer than one byte.
    private static func expectedLength(leadingByte byte: UInt8) -> Int {
        switch byte {
        case 0xC2...0xDF: 2
        case 0xE0...0xEF: 3
        case 0xF0...0xF4: 4
        default: 0
        }
    }

    /// Whether a continuation byte may stand second: overlong forms, surrogates and what lies beyond U+10FFFF may not.
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
