import CurlEngine
import HTTPTypes

/// The validator that distinguishes a representation from every other one of the same URL: the value for `If-Range` (RFC 9110,
/// section 13.1.5).
package enum StrongValidator: Hashable, Sendable {
    /// A strong entity tag, with its quotes.
    case entityTag(String)
    /// The time of the last change, if the representation certainly did not change again within that second.
    case lastModified(String)

    /// Creates the validator of a response; `nil` if the response has none.
    package init?(_ fields: HTTPFields) {
        if let tag = fields[.eTag] {
            // A weak tag says that the bytes may differ, and then the time is not reliable either.
            guard Self.isStrong(tag) else { return nil }
            self = .entityTag(tag)
            return
        }
        // The change has to be at least a second older than the response (RFC 9110, section 8.8.2.2).
        let zero = HTTPDate(secondsSince1970: 0)
        guard let text = fields[.lastModified], let changed = HTTPDate(text, now: zero),
            let made = fields[.date].flatMap({ HTTPDate($0, now: zero) }),
            made.secondsSince1970 - changed.secondsSince1970 >= 1
        else { return nil }
        self = .lastModified(text)
    }

    /// The value for `If-Range`.
    package var text: String {
        switch self {
        case .entityTag(let text), .lastModified(let text): text
        }
    }

    /// Compares tags character by character (RFC 9110, section 8.8.3.2), which here means byte by byte.
    package static func == (one: StrongValidator, other: StrongValidator) -> Bool {
        switch (one, other) {
        case (.entityTag(let one), .entityTag(let other)), (.lastModified(let one), .lastModified(let other)):
            one.hasSameBytes(as: other)
        default: false
        }
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(text) }

    /// Returns whether a part with these fields is of the same representation.
    package func fits(partWith fields: HTTPFields) -> Bool {
        switch self {
        // A part has the tag of the complete representation (RFC 9110, section 15.3.7).
        case .entityTag(let tag): fields[.eTag]?.hasSameBytes(as: tag) ?? false
        // A part need not repeat the time.
        case .lastModified(let text): fields[.lastModified]?.hasSameBytes(as: text) ?? true
        }
    }

    /// Returns whether a tag is quoted, not weak, and made of the characters that a tag may have (RFC 9110, section 8.8.3).
    private static func isStrong(_ tag: String) -> Bool {
        let bytes = tag.utf8
        guard bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") else {
            return false
        }
        return bytes.dropFirst().dropLast().allSatisfy { $0 >= 0x21 && $0 != UInt8(ascii: "\"") && $0 != 0x7F }
    }
}
