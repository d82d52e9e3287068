/// Octets as text that can be turned back into the same octets: UTF-8 where they are, and for each octet that is not part of any,
/// the scalar U+EF00 and its value (U+EF80 to U+EFFF).
///
/// Servers may put any octets in a cookie and are to get them back (RFC 6265bis, section 5.6). Text that has such scalars itself, which
/// are for private use, becomes octets one by one, so that two texts never stand for the same octets.
enum OctetText {
    private static let first: UInt32 = 0xef00
    private static let scalars: ClosedRange<UInt32> = 0xef80...0xefff
    /// The first octet of such scalars in UTF-8.
    private static let mark: UInt8 = 0xee

    /// The text of octets.
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

    /// The octets of a text.
    static func octets(_ text: String) -> [UInt8] {
        guard text.utf8.contains(mark) else { return Array(text.utf8) }
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

    /// How many octets a text has.
    static func count(_ text: Substring.UTF8View) -> Int {
        guard text.contains(mark) else { return text.count }
        return octets(String(Substring(text))).count
    }

    /// How many octets a text has.
    static func count(_ text: String) -> Int { count(text[...].utf8) }

    /// The scalar that octets begin with; `nil` where they begin with none, or with one that stands for an octet.
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
