/// Methods that read and compare text as bytes. A `Character` joins bytes that must be kept apart (`"` and an accent after it are one), and
/// `==` treats canonically equivalent texts as equal (`K` and the kelvin sign). Text that is used on the wire, in a shell, in a path or in
/// a key is therefore searched, split, escaped and compared with these methods.
extension StringProtocol where UTF8View: BidirectionalCollection {
    /// Returns whether the bytes are the same.
    package func hasSameBytes(as other: some StringProtocol) -> Bool {
        utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
    }

    /// Returns whether the text begins with these bytes.
    package func hasBytePrefix(_ prefix: String) -> Bool { utf8.starts(with: prefix.utf8) }

    /// Returns whether the text ends with these bytes.
    package func hasByteSuffix(_ suffix: String) -> Bool {
        utf8.count >= suffix.utf8.count && utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
    }

    /// Returns whether the text contains these bytes.
    package func containsBytes(_ text: String) -> Bool { utf8.firstRange(of: text.utf8) != nil }

    /// Returns the index of the first ASCII character that equals `mark`.
    package func firstIndex(ofByte mark: Unicode.Scalar) -> Index? { utf8.firstIndex(of: UInt8(ascii: mark)) }

    /// Returns the index of the last ASCII character that equals `mark`.
    package func lastIndex(ofByte mark: Unicode.Scalar) -> Index? { utf8.lastIndex(of: UInt8(ascii: mark)) }

    /// Returns the text before the first of some ASCII characters; the complete text if it has none of them.
    package func prefix(beforeBytes marks: String) -> SubSequence {
        self[..<(utf8.firstIndex { marks.utf8.contains($0) } ?? endIndex)]
    }

    /// The range of the `://` after a scheme (RFC 3986, section 3.1); `nil` if the text before the first colon is not a scheme.
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

    /// Returns the pieces between the ASCII characters that equal `mark`.
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

    /// The last component of a path that is not empty; the complete path if every component is empty.
    package var lastPathComponent: SubSequence { split(atByte: "/").last ?? self[...] }

    /// The text without the spaces and control characters at its end.
    package var withoutTrailingBlanks: String {
        guard let last = utf8.lastIndex(where: { $0 > 0x20 }) else { return "" }
        return String(decoding: utf8[...last], as: UTF8.self)
    }

    /// Returns the text with `replacement` instead of each ASCII character that equals `mark`.
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

extension StringProtocol {
    /// Returns the text with `A` to `Z` in lower case and every other byte as it is: the case-insensitive tokens of protocols are ASCII,
    /// where `lowercased()` makes a `k` of the kelvin sign. The result may be compared by `==` with a constant in lower case: no other text
    /// is canonically equivalent to one.
    package func lowercasedASCII() -> String { String(self).lowercasedASCII() }

    /// Returns whether the bytes are the same apart from the case of ASCII letters.
    package func hasSameToken(as other: some StringProtocol) -> Bool {
        lowercasedASCII().hasSameBytes(as: other.lowercasedASCII())
    }

    /// The text without its spaces and tabs.
    package var withoutBlanks: String {
        String(decoding: utf8.filter { $0 != 0x20 && $0 != 0x09 }, as: UTF8.self)
    }
}

extension String {
    /// Creates a text of two texts with an ASCII character between them, in one piece of memory.
    package init(joining first: String, _ mark: Unicode.Scalar, _ second: String) {
        let (one, two) = (first.utf8.span, second.utf8.span)
        unsafe self.init(unsafeUninitializedCapacity: one.count + two.count + 1) { buffer in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            unsafe one.withUnsafeBytes { unsafe bytes.copyMemory(from: $0) }
            unsafe bytes[one.count] = UInt8(ascii: mark)
            unsafe two.withUnsafeBytes { source in
                unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[(one.count + 1)...]).copyMemory(from: source)
            }
            return one.count + two.count + 1
        }
    }

    /// A number from the last bytes, for the slots of small caches.
    package var slotNumber: UInt {
        let bytes = utf8.span
        var number = UInt(bytes.count)
        for index in max(0, bytes.count - 16)..<bytes.count { number = (number ^ UInt(bytes[index])) &* 16_777_619 }
        return number >> 3
    }

    /// Returns whether the bytes are the same. The compiler does not specialise the generic method for other modules, and comparing byte by
    /// byte through its witnesses takes hundreds of times as long.
    package func hasSameBytes(as other: String) -> Bool {
        let (one, two) = (utf8.span, other.utf8.span)
        return one.hasSameBytes(as: two)
    }

    /// Returns the text with `A` to `Z` in lower case, for the reason of ``hasSameBytes(as:)``. A text without them is returned itself.
    package func lowercasedASCII() -> String {
        let bytes = utf8.span
        var start = 0
        while start < bytes.count, bytes[start].lowercasedASCII == bytes[start] { start += 1 }
        guard start < bytes.count else { return self }
        return String(decoding: utf8.map(\.lowercasedASCII), as: UTF8.self)
    }

    /// Returns whether the text contains these bytes, for the reason of ``hasSameBytes(as:)``.
    package func containsBytes(_ text: String) -> Bool {
        let (bytes, wanted) = (utf8.span, text.utf8.span)
        guard !wanted.isEmpty else { return true }
        var start = 0
        while start + wanted.count <= bytes.count {
            var length = 0
            while length < wanted.count, bytes[start + length] == wanted[length] { length += 1 }
            if length == wanted.count { return true }
            start += 1
        }
        return false
    }

    /// Returns whether the text begins with these bytes, for the reason of ``hasSameBytes(as:)``.
    package func hasBytePrefix(_ prefix: String) -> Bool {
        let (text, beginning) = (utf8.span, prefix.utf8.span)
        guard text.count >= beginning.count else { return false }
        for index in beginning.indices where text[index] != beginning[index] { return false }
        return true
    }
}

extension UInt8 {
    /// The byte, with `A` to `Z` in lower case.
    package var lowercasedASCII: UInt8 { self >= 0x41 && self <= 0x5A ? self | 0x20 : self }
}

/// A text for keys that equals only texts with the same bytes.
package struct TextBytes: Hashable, Sendable {
    /// The text.
    package let text: String

    /// Creates the key of a text.
    package init(_ text: some StringProtocol) { self.text = String(text) }

    /// Returns whether the bytes are the same.
    package static func == (one: TextBytes, other: TextBytes) -> Bool { one.text.hasSameBytes(as: other.text) }

    /// Hashes the text. Texts with the same bytes are also equal as `String`, so the hash of `String` is sufficient.
    package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
