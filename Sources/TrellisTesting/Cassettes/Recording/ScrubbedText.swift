import CurlEngine
import TrellisCore

/// The replacement of parts of text by scrubbers.
enum ScrubbedText {
    /// Returns a text as a string of JSON (RFC 8259, section 7).
    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    /// Returns whether a value is at a place, or within the value there.
    static func matches(_ pattern: [String], _ path: [JSONRewriter.Component]) -> Bool {
        guard !pattern.isEmpty, path.count >= pattern.count else { return false }
        return zip(pattern, path).allSatisfy { name, component in
            guard !name.hasSameBytes(as: "*") else { return true }
            return switch component {
            case .key(let key): key.hasSameBytes(as: name)
            case .index(let index): "\(index)".hasSameBytes(as: name)
            }
        }
    }

    /// Returns a text with another one in the place of some bytes.
    static func replacing(_ bytes: String, with replacement: String, in text: String) -> String {
        guard !bytes.isEmpty else { return text }
        var (result, rest) = ([UInt8](), Array(text.utf8)[...])
        while let range = rest.firstRange(of: bytes.utf8) {
            result += rest[..<range.lowerBound]
            result += replacement.utf8
            rest = rest[range.upperBound...]
        }
        guard !result.isEmpty || rest.count < text.utf8.count else { return text }
        return String(decoding: result + rest, as: UTF8.self)
    }
}
