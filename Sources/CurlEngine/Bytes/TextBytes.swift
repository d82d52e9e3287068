/// Text read and compared as bytes. A `Character` joins what bytes keep apart (`"` and the accent after it are one), and `==`
/// takes canonically equivalent texts for the same (`K` and the sign for kelvin). What goes on the wire, to a shell, into a
/// path or into a key is therefore searched, split, escaped and compared with these.
extension StringProtocol where UTF8View: BidirectionalCollection {
    /// Whether the bytes are the same.
    package func hasSameBytes(as other: some StringProtocol) -> Bool {
        utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
    }

    /// Whether the text begins with these bytes.
    package func hasBytePrefix(_ prefix: String) -> Bool { utf8.starts(with: prefix.utf8) }

    /// Whether these bytes are somewhere in the text.
    package func containsBytes(_ text: String) -> Bool { utf8.firstRange(of: text.utf8) != nil }

    /// The place of the first ASCII character that is this one.
    package func firstIndex(ofByte mark: Unicode.Scalar) -> Index? { utf8.firstIndex(of: UInt8(ascii: mark)) }

    /// The place of the last ASCII character that is this one.
    package func lastIndex(ofByte mark: Unicode.Scalar) -> Index? { utf8.lastIndex(of: UInt8(ascii: mark)) }

    /// The text before the first of some ASCII characters; the whole text where there is none of them.
    package func prefix(beforeBytes marks: String) -> SubSequence {
        self[..<(utf8.firstIndex { marks.utf8.contains($0) } ?? endIndex)]
    }

    /// The place of the `://` behind a scheme (RFC 3986, section 3.1); `nil` where anything but a scheme stands before the first.
    package var schemeMark: Range<Index>? {
        guard let colon = firstIndex(ofByte: ":"), utf8[colon...].starts(with: "://".utf8), let first = utf8.first,
            Self.isLetter(first), utf8[..<colon].allSatisfy(Self.isSchemeByte)
        else { return nil }
        return colon..<utf8.index(colon, offsetBy: 3)
    }

    private static func isLetter(_ byte: UInt8) -> Bool { 0x61...0x7A ~= byte | 0x20 }

    private static func isSchemeByte(_ byte: UInt8) -> Bool {
        isLetter(byte) || 0x30...0x39 ~= byte || byte == 0x2B || byte == 0x2D || byte == 0x2E
    }

    /// The pieces between ASCII characters that are this one.
    package func split(
        atByte mark: Unicode.Scalar, maxSplits: Int = .max, omittingEmptySubsequences: Bool = true
    ) -> [SubSequence] {
        let mark = UInt8(ascii: mark)
        var pieces: [SubSequence] = []
        var start = startIndex
        while pieces.count < maxSplits, let end = utf8[start...].firstIndex(of: mark) {
            if start < end || !omittingEmptySubsequences { pieces.append(self[start..<end]) }
            start = utf8.index(after: end)
        }
        if start < endIndex || !omittingEmptySubsequences { pieces.append(self[start...]) }
        return pieces
    }

    /// The last component of a path that is not empty; the whole path where there is none.
    package var lastPathComponent: SubSequence { split(atByte: "/").last ?? self[...] }

    /// The text with other bytes in place of each ASCII character that is this one.
    package func replacing(byte mark: Unicode.Scalar, with replacement: String) -> String {
        let mark = UInt8(ascii: mark)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(utf8.count)
        for byte in utf8 {
            if byte == mark { bytes += replacement.utf8 } else { bytes.append(byte) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// A text whose bytes decide what it is equal to: for keys.
package struct TextBytes: Hashable, Sendable {
    /// The text.
    package let text: String

    /// The bytes of a text.
    package init(_ text: some StringProtocol) { self.text = String(text) }

    /// Whether the bytes are the same.
    package static func == (one: TextBytes, other: TextBytes) -> Bool { one.text.hasSameBytes(as: other.text) }

    /// Texts with the same bytes are equal to `String` too, so that its hash serves.
    package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
