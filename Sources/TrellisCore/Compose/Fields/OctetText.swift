import CurlEngine

/// A reversible encoding of octets as text: octets that are UTF-8 are decoded, and each octet that is not part of valid UTF-8 becomes
/// the scalar U+EF00 plus its value (U+EF80 to U+EFFF).
///
/// Servers may put any octets in a cookie and must get them back (RFC 6265bis, section 5.6). Octets that are such a scalar in UTF-8,
/// which is for private use, are encoded one by one, so that two texts never stand for the same octets.
enum OctetText {
    /// The scalar to which the value of an octet is added.
    private static let first: UInt32 = 0xef00
    /// The scalars that stand for octets.
    private static let scalars: ClosedRange<UInt32> = 0xef80...0xefff
    /// The first octet of each of ``scalars`` in UTF-8.
    private static let mark: UInt8 = 0xee

    /// Returns the text of octets.
    static func text(_ octets: some Collection<UInt8>) -> String {
        if !octets.contains(mark), let text = String(validating: octets, as: UTF8.self) { return text }
        var text = ""
        var rest = Array(octets)[...]
        while let octet = rest.first {
            if let scalar = scalar(rest) {
                text.unicodeScalars.append(scalar)
                rest = rest.dropFirst(Unicode.UTF8.width(scalar))
            } else {
                if let scalar = Unicode.Scalar(first + UInt32(octet)) { text.unicodeScalars.append(scalar) }
                rest = rest.dropFirst()
            }
        }
        return text
    }

    /// Returns whether the octets of a text may differ from its UTF-8.
    static func hasOctets(_ text: String) -> Bool {
        let bytes = text.utf8.span
        return bytes.offset(of: mark) < bytes.count
    }

    /// Returns the octets of a text.
    static func octets(_ text: String) -> [UInt8] {
        guard hasOctets(text) else { return Array(text.utf8) }
        var octets: [UInt8] = []
        for scalar in text.unicodeScalars {
            if scalars.contains(scalar.value) {
                octets.append(UInt8(scalar.value - first))
            } else {
                octets.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            }
        }
        return octets
    }

    /// Returns the number of octets of a text in UTF-8.
    static func count(_ text: ArraySlice<UInt8>) -> Int {
        text.contains(mark) ? octets(String(decoding: text, as: UTF8.self)).count : text.count
    }

    /// Returns the number of octets of a text.
    static func count(_ text: String) -> Int { hasOctets(text) ? octets(text).count : text.utf8.count }

    /// Returns the text of octets.
    static func text(_ octets: Span<UInt8>) -> String {
        for index in octets.indices where octets[index] == mark { return text(octets.indices.map { octets[$0] }) }
        guard let text = try? UTF8Span(validating: octets) else { return text(octets.indices.map { octets[$0] }) }
        return String(copying: text)
    }

    /// Returns the scalar that octets begin with; `nil` if they do not begin with one, or if the scalar is one of ``scalars``.
    private static func scalar(_ octets: ArraySlice<UInt8>) -> Unicode.Scalar? {
        let width =
            switch octets.first ?? 0xff {
            case 0..<0x80: 1
            case 0xc2...0xdf: 2
            case 0xe0...0xef: 3
            case 0xf0...0xf4: 4
            default: 0
            }
        guard width > 0, octets.count >= width,
            let scalar = String(validating: octets.prefix(width), as: UTF8.self)?.unicodeScalars.first
        else { return nil }
        return scalars.contains(scalar.value) ? nil : scalar
    }
}
