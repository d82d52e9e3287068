import CurlEngine
import FoundationEssentials
import HTTPTypes

extension HTTPField {
    /// The bytes of a value that is not UTF-8, in which ``value`` has replacement characters; `nil` if the value is UTF-8, so that its
    /// bytes are the bytes of ``value``.
    ///
    /// The encoded form of a field is its only safe interface that keeps such bytes: one scalar for each byte (ISO 8859-1).
    package var octetsBeyondUTF8: [UInt8]? {
        let text = value
        // The counts of an ASCII text are equal, and known without a scan.
        guard text.utf16.count != text.utf8.count, text.unicodeScalars.contains("\u{FFFD}"),
            let encoded = try? JSONEncoder().encode(self),
            let scalars = try? JSONDecoder().decode(EncodedField.self, from: encoded).value.unicodeScalars
        else { return nil }
        let octets = scalars.compactMap { UInt8(exactly: $0.value) }
        // The value may contain a replacement character of its own.
        return String(validating: octets, as: UTF8.self) == nil && octets.count == scalars.count ? octets : nil
    }

    /// The bytes of the value as they are sent.
    package var sentOctets: [UInt8] {
        if let octets = octetsBeyondUTF8 { return octets }
        return name == .cookie && OctetText.hasOctets(value) ? OctetText.octets(value) : Array(value.utf8)
    }

    /// The value as a reference to a URL. Octets that are not UTF-8, such as Latin-1, are percent-encoded one by one: the server
    /// gets back those that it has written.
    package var urlReference: String {
        guard let octets = octetsBeyondUTF8 else { return value }
        return octets.map { $0 < 0x80 ? String(UnicodeScalar($0)) : $0.percentEncoded }.joined()
    }
}

/// The encoded form of a field.
private struct EncodedField: Decodable {
    let value: String
}
