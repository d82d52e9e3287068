/// The check of UTF-8 that arrives in pieces (RFC 3629; Unicode, table 3-7). The check fails at the first byte that no text can have at its
/// place.
package struct UTF8Progress: Sendable, Hashable {
    /// The number of bytes that the current character still needs.
    private var missing = 0
    /// The bytes that may come next within the current character.
    private var low: UInt8 = 0x80
    private var high: UInt8 = 0xBF

    /// Creates the check of a text from its beginning.
    package init() {}

    /// Whether the text so far does not end within a character.
    package var isComplete: Bool { missing == 0 }

    /// Adds the next bytes of the text. Returns `false` if the text is not valid.
    package mutating func add(_ bytes: Span<UInt8>) -> Bool {
        unsafe bytes.withUnsafeBytes { bytes in unsafe add(bytes) }
    }

    private mutating func add(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        while index < bytes.count {
            if missing == 0 {
                unsafe Self.skipASCII(bytes, &index)
                guard unsafe Self.skipCharacters(bytes, &index) else { return false }
                guard index < bytes.count else { return true }
            }
            let byte = unsafe bytes[index]
            index += 1
            if missing > 0 {
                guard byte >= low, byte <= high else { return false }
                missing -= 1
                (low, high) = (0x80, 0xBF)
            } else if byte >= 0x80 {
                guard begin(byte) else { return false }
            }
        }
        return true
    }

    /// Begins a character of several bytes. Returns `false` if no character begins with the byte.
    private mutating func begin(_ byte: UInt8) -> Bool {
        switch byte {
        case 0xC2...0xDF: missing = 1
        case 0xE0...0xEF:
            missing = 2
            if byte == 0xE0 { low = 0xA0 }
            // Surrogates are no characters.
            if byte == 0xED { high = 0x9F }
        case 0xF0...0xF4:
            missing = 3
            if byte == 0xF0 { low = 0x90 }
            if byte == 0xF4 { high = 0x8F }
        default: return false
        }
        return true
    }

    /// Moves the index past characters of several bytes, as long as four bytes follow. Returns `false` if one of them is not valid.
    private static func skipCharacters(_ bytes: UnsafeRawBufferPointer, _ index: inout Int) -> Bool {
        while index + 4 <= bytes.count {
            let word = unsafe UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt32.self))
            switch word >> 24 {
            case 0x00...0x7F: return true
            case 0xC2...0xDF:
                guard word & 0x00C0_0000 == 0x0080_0000 else { return false }
                index += 2
            case 0xE0...0xEF:
                guard word & 0x00C0_C000 == 0x0080_8000 else { return false }
                // The shortest form, and no surrogates.
                guard word >> 16 & 0xFFE0 != 0xE080, word >> 16 & 0xFFE0 != 0xEDA0 else { return false }
                index += 3
            case 0xF0...0xF4:
                guard word & 0x00C0_C0C0 == 0x0080_8080 else { return false }
                // The shortest form, and not above U+10FFFF.
                guard (0xF090...0xF48F).contains(word >> 16) else { return false }
                index += 4
            default: return false
            }
        }
        return true
    }

    /// Moves the index to the first byte that is not ASCII, by at most seven bytes less.
    private static func skipASCII(_ bytes: UnsafeRawBufferPointer, _ index: inout Int) {
        while index + 8 <= bytes.count {
            let word = unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            guard word & 0x8080_8080_8080_8080 == 0 else { return }
            index += 8
        }
    }
}
