import CurlEngine
import HTTPTypes

extension HTTPFields {
    /// Creates the fields of a part's head, one per line; a line that begins with white space continues the line before it
    /// (RFC 5322, section 2.2.3).
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/serialization`` for a line that is not a field, and for more fields
    ///   than ``WireFields/maximumCount``.
    init(partHead bytes: ArraySlice<UInt8>) throws(TrellisError) {
        self.init()
        var unfolded: [[UInt8]] = []
        for line in bytes.split(separator: 0x0A) {
            let line = line.last == 0x0D ? line.dropLast() : line
            if let first = line.first, first == 0x20 || first == 0x09, !unfolded.isEmpty {
                unfolded[unfolded.count - 1] += [0x20] + line.drop { $0 == 0x20 || $0 == 0x09 }
            } else {
                unfolded.append(Array(line))
            }
        }
        guard unfolded.count <= WireFields.maximumCount else {
            throw .malformedStream("the head of a part has more than \(WireFields.maximumCount) header fields")
        }
        for line in unfolded {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
                let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
            else {
                let text = String(decoding: line.prefix(80), as: UTF8.self)
                throw .malformedStream("the head of a part has a line that is not a header field: \(text)")
            }
            let value = line[(colon + 1)...]
            if let text = String(validating: value, as: UTF8.self) {
                append(HTTPField(name: name, value: text))
            } else {
                append(HTTPField(name: name, value: value))
            }
        }
    }
}
