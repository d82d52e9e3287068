import CurlEngine
import FoundationEssentials

/// The reading of an encoded certificate (RFC 5280, section 4.1).
extension Certificate.Properties {
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` if the bytes are not exactly one certificate.
    init(_ bytes: ArraySlice<UInt8>) throws(TrellisError) {
        let fields: CertificateFields
        do throws(DERReader.Malformed) {
            fields = try CertificateFields(bytes)
        } catch {
            throw TrellisError(.invalidRequest(.trustEvaluator("the bytes are not an X.509 certificate")))
        }
        self.init(
            derRepresentation: Data(bytes), publicKeyPin: try PublicKeyPin(ofKey: fields.publicKey),
            subject: fields.subject, issuer: fields.issuer, serialNumber: fields.serialNumber,
            notBefore: fields.notBefore, notAfter: fields.notAfter, subjectAlternativeNames: fields.names)
    }
}

/// The fields of a certificate.
private struct CertificateFields {
    let serialNumber: String
    let issuer: String
    let notBefore: Date
    let notAfter: Date
    let subject: String
    /// The encoding of the field `subjectPublicKeyInfo`.
    let publicKey: ArraySlice<UInt8>
    let names: [Certificate.SubjectAlternativeName]

    private typealias Tag = DERReader.Tag

    /// The object identifier of the extension with the alternative names: 2.5.29.17.
    private static let alternativeNames: [UInt8] = [0x55, 0x1D, 0x11]

    init(_ bytes: ArraySlice<UInt8>) throws(DERReader.Malformed) {
        var outer = DERReader(bytes)
        var certificate = try outer.next(Tag.sequence).reader
        try outer.finish()
        var fields = try certificate.next(Tag.sequence).reader
        _ = try certificate.next(Tag.sequence)
        _ = try certificate.next(Tag.bitString)
        try certificate.finish()
        // The version has the tag [0] and is left out in the first version.
        _ = try fields.nextIfPresent(0xA0)
        serialNumber = Self.serialNumber(try fields.next(Tag.integer).content)
        _ = try fields.next(Tag.sequence)
        issuer = try DistinguishedName.text(fields.next(Tag.sequence))
        var validity = try fields.next(Tag.sequence).reader
        notBefore = try CertificateTime.date(validity.next())
        notAfter = try CertificateTime.date(validity.next())
        subject = try DistinguishedName.text(fields.next(Tag.sequence))
        publicKey = try fields.next(Tag.sequence).encoding
        // The unique identifiers of issuer and subject are obsolete.
        _ = try fields.nextIfPresent(0x81)
        _ = try fields.nextIfPresent(0x82)
        if let extensions = try fields.nextIfPresent(0xA3) {
            var list = extensions.reader
            names = try Self.names(try list.next(Tag.sequence).reader)
        } else {
            names = []
        }
    }

    /// Returns the digits of a number, without the zero byte that marks a number as positive.
    private static func serialNumber(_ bytes: ArraySlice<UInt8>) -> String {
        Array(bytes.count > 1 && bytes.first == 0 ? bytes.dropFirst() : bytes).hexadecimal
    }

    private static func names(
        _ extensions: DERReader
    ) throws(DERReader.Malformed) -> [Certificate.SubjectAlternativeName] {
        var extensions = extensions
        while !extensions.isAtEnd {
            var parts = try extensions.next(Tag.sequence).reader
            let identifier = try parts.next(Tag.objectIdentifier).content
            _ = try parts.nextIfPresent(Tag.boolean)
            let value = try parts.next(Tag.octetString)
            guard identifier.elementsEqual(alternativeNames) else { continue }
            var outer = value.reader
            var list = try outer.next(Tag.sequence).reader
            var names: [Certificate.SubjectAlternativeName] = []
            while !list.isAtEnd { if let name = name(try list.next()) { names.append(name) } }
            return names
        }
        return []
    }

    /// Returns a name; `nil` for a name of another kind, and for one that is not text or not an address.
    private static func name(_ element: DERReader.Element) -> Certificate.SubjectAlternativeName? {
        if element.tag == 0x87 { return address(Array(element.content)).map { .ipAddress($0) } }
        // These names are ASCII text; a control character in one would change the meaning of a report.
        guard element.content.allSatisfy({ 0x20...0x7E ~= $0 }) else { return nil }
        let text = String(decoding: element.content, as: UTF8.self)
        return switch element.tag {
        case 0x81: .emailAddress(text)
        case 0x82: .dnsName(text)
        case 0x86: .uri(text)
        default: nil
        }
    }

    private static func address(_ bytes: [UInt8]) -> String? {
        switch bytes.count {
        case 4: return bytes.map { "\($0)" }.joined(separator: ".")
        case 16:
            let groups = stride(from: 0, to: 16, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
            return IPv6Text.text(groups)
        default: return nil
        }
    }
}

/// The text of an IPv6 address.
private enum IPv6Text {
    /// Returns eight groups in the form of RFC 5952: the longest run of zeros, of two groups or more, is left out.
    static func text(_ groups: [UInt16]) -> String {
        var longest = 0..<0
        var start = 0
        while start < groups.count {
            guard groups[start] == 0 else {
                start += 1
                continue
            }
            let end = groups[start...].firstIndex { $0 != 0 } ?? groups.count
            if end - start > max(longest.count, 1) { longest = start..<end }
            start = end
        }
        func text(_ groups: ArraySlice<UInt16>) -> String {
            groups.map { String($0, radix: 16) }.joined(separator: ":")
        }
        if longest.isEmpty { return text(groups[...]) }
        return text(groups[..<longest.lowerBound]) + "::" + text(groups[longest.upperBound...])
    }
}

/// The instants in certificates (RFC 5280, section 4.1.2.5): in UTC, and to the second.
private enum CertificateTime {
    static func date(_ element: DERReader.Element) throws(DERReader.Malformed) -> Date {
        let digits = element.content.dropLast()
        guard element.content.last == UInt8(ascii: "Z"), digits.allSatisfy({ 0x30...0x39 ~= $0 }) else {
            throw DERReader.Malformed()
        }
        let yearLength = element.tag == DERReader.Tag.generalizedTime ? 4 : 2
        guard element.tag == DERReader.Tag.utcTime || yearLength == 4, digits.count == yearLength + 10 else {
            throw DERReader.Malformed()
        }
        func number(_ start: Int, _ count: Int) -> Int {
            digits.dropFirst(start).prefix(count).reduce(0) { $0 * 10 + Int($1 - 0x30) }
        }
        let shortYear = number(0, yearLength)
        let year = yearLength == 4 ? shortYear : shortYear + (shortYear < 50 ? 2000 : 1900)
        let (month, day) = (number(yearLength, 2), number(yearLength + 2, 2))
        let (hour, minute, second) = (
            number(yearLength + 4, 2), number(yearLength + 6, 2), number(yearLength + 8, 2)
        )
        guard second < 60,
            let seconds = GregorianDay.secondsSince1970(
                year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        else { throw DERReader.Malformed() }
        return Date(timeIntervalSince1970: Double(seconds))
    }
}
