/// The name of the subject or of the issuer of a certificate, as text (RFC 5280, section 4.1.2.4).
enum DistinguishedName {
    /// The short names of the types of attributes, by the bytes of their object identifiers (RFC 4519; RFC 4514, section 3).
    private static let names: [[UInt8]: String] = [
        [0x55, 4, 3]: "CN", [0x55, 4, 4]: "SN", [0x55, 4, 5]: "serialNumber", [0x55, 4, 6]: "C", [0x55, 4, 7]: "L",
        [0x55, 4, 8]: "ST", [0x55, 4, 9]: "street", [0x55, 4, 10]: "O", [0x55, 4, 11]: "OU", [0x55, 4, 12]: "title",
        [0x55, 4, 15]: "businessCategory", [0x55, 4, 17]: "postalCode", [0x55, 4, 42]: "GN",
        [0x55, 4, 97]: "organizationIdentifier",
        [0x09, 0x92, 0x26, 0x89, 0x93, 0xF2, 0x2C, 0x64, 1, 25]: "DC",
        [0x09, 0x92, 0x26, 0x89, 0x93, 0xF2, 0x2C, 0x64, 1, 1]: "UID",
        [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 9, 1]: "emailAddress",
    ]

    /// Returns the attributes of an encoded name in their order, such as `C=US, O=Example, CN=Example Root`. Characters that end an
    /// attribute, blanks at the ends of a value, control characters and invisible ones are escaped as in RFC 4514, section 2.4.
    static func text(_ element: DERReader.Element) throws(DERReader.Malformed) -> String {
        var parts: [String] = []
        var sets = element.reader
        while !sets.isAtEnd {
            var attributes = try sets.next(DERReader.Tag.set).reader
            var values: [String] = []
            while !attributes.isAtEnd {
                var attribute = try attributes.next(DERReader.Tag.sequence).reader
                let type = Array(try attribute.next(DERReader.Tag.objectIdentifier).content)
                let value = try attribute.next()
                values.append((names[type] ?? dotted(type)) + "=" + text(ofValue: value))
            }
            parts.append(values.joined(separator: "+"))
        }
        return parts.joined(separator: ", ")
    }

    /// Returns an object identifier as numbers with dots (X.690, section 8.19).
    private static func dotted(_ bytes: [UInt8]) -> String {
        var numbers: [UInt64] = []
        var number: UInt64 = 0
        for byte in bytes {
            // A number beyond the range has no meaning here, so its higher bits are lost.
            number = number << 7 | UInt64(byte & 0x7F)
            guard byte & 0x80 == 0 else { continue }
            numbers.append(number)
            number = 0
        }
        if let first = numbers.first {
            let root = min(first / 40, 2)
            numbers.replaceSubrange(0..<1, with: [root, first - 40 * root])
        }
        return numbers.map(String.init).joined(separator: ".")
    }

    private static func text(ofValue value: DERReader.Element) -> String {
        switch value.tag {
        case 0x0C, 0x12, 0x13, 0x16, 0x1A:
            if let text = String(validating: value.content, as: UTF8.self) { return escaped(text) }
        // The character set of this type is, in practice, ISO 8859-1.
        case 0x14: return escaped(String(String.UnicodeScalarView(value.content.map { Unicode.Scalar($0) })))
        case 0x1E where value.content.count.isMultiple(of: 2):
            let bytes = Array(value.content)
            let units = stride(from: 0, to: bytes.count, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
            if let text = String(validating: units, as: UTF16.self) { return escaped(text) }
        default: break
        }
        return "#" + Array(value.encoding).hexadecimal
    }

    /// Returns the text of a value with the escapes of RFC 4514, section 2.4.
    static func escaped(_ text: String) -> String {
        var result = ""
        let scalars = text.unicodeScalars
        for index in scalars.indices {
            let (scalar, isFirst) = (scalars[index], index == scalars.startIndex)
            let isAtEdge = isFirst || scalars.index(after: index) == scalars.endIndex
            if ",+\"\\<>;=".unicodeScalars.contains(scalar) || isFirst && scalar == "#" || isAtEdge && scalar == " " {
                result.unicodeScalars.append("\\")
            }
            result.unicodeScalars.append(scalar)
        }
        return escapingInvisible(result)
    }

    /// Returns a text whose control characters and invisible ones are escaped. A terminal or a log that shows the text could be misled by
    /// them.
    static func escapingInvisible(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator:
                for byte in String(scalar).utf8 { result += "\\" + [byte].hexadecimal }
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

extension [UInt8] {
    /// The bytes in lower-case hexadecimal digits.
    var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
